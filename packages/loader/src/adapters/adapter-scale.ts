import type { ConfigReader } from '../config/config-reader.js';

/** The number that the product of the factors of a module is multiplied by. */
export type AdapterScale = (module: string, rank: number) => number;

/**
 * α / r, or α / √r of rank-stabilised adapters, with exceptions by module, as PEFT's adapter_config.json says.
 *
 * @throws InvalidConfigError for other kinds of adapters: their results would be wrong
 */
export function peftScale(config: ConfigReader): AdapterScale {
  if (config.string('peft_type', 'LORA') !== 'LORA') config.fail('peft_type', 'LORA');
  if (config.boolean('use_dora', false))
    config.fail('use_dora', 'false, because only plain LoRA is supported');
  if (config.string('bias', 'none') !== 'none')
    config.fail('bias', '"none", because biases are not supported');
  const saved = config.list('modules_to_save', 1000) ?? [];
  if (saved.length > 0)
    config.fail('modules_to_save', 'empty, because fully trained modules are not supported');
  const alpha = config.number('lora_alpha', { min: 0 });
  const alphas = patterns(config, 'alpha_pattern');
  const isStabilised = config.boolean('use_rslora', false);
  return (module, rank) => {
    const own = alphas.find(([pattern]) => pattern.test(module))?.[1] ?? alpha;
    return own / (isStabilised ? Math.sqrt(rank) : rank);
  };
}

/** `lora_parameters.scale` of MLX's adapter_config.json. @throws InvalidConfigError for other kinds of adapters */
export function mlxScale(config: ConfigReader): AdapterScale {
  if (config.string('fine_tune_type', 'lora') !== 'lora') config.fail('fine_tune_type', 'lora');
  const parameters = config.object('lora_parameters') ?? config.fail('lora_parameters', 'an object');
  const scale = parameters.number('scale');
  return () => scale;
}

/** Module names with their numbers; PEFT compares the end of a name. */
function patterns(config: ConfigReader, key: string): [RegExp, number][] {
  const table = config.object(key);
  return (table?.keys() ?? []).map((name) => {
    const end = name.replace(/[^\w]/g, '\\$&');
    return [new RegExp(`(?:^|\\.)${end}$`), table!.number(name)];
  });
}
