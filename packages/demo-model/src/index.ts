import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/**
 * Absolute path of the demo checkpoint: a folder in the MLX layout with config, tokenizer, chat template, quantised
 * weights, and `expected.safetensors`, the reference outputs that `markbase verify` compares with.
 *
 * Pass it to anything that takes a checkpoint folder, such as `loadTextModel(modelPath, device)`.
 */
export const modelPath: string = checkpointFolder('model');

/**
 * Absolute path of the second model, a mixture of experts like 26B-A4B: text only, with the same tokenizer and template.
 *
 * Loading it takes the option `feedForward: mixtureOfExperts` of @markbase/moe.
 */
export const moeModelPath: string = checkpointFolder('model-moe');

/** Next to this module; if a bundler moved the module, in the installed package. */
function checkpointFolder(name: string): string {
  // In CommonJS that a bundler made there is no `import.meta`.
  const url = import.meta.url ?? pathToFileURL(__filename).href;
  const beside = join(dirname(fileURLToPath(url)), '..', name);
  if (existsSync(join(beside, 'config.json'))) return beside;
  try {
    return join(dirname(createRequire(url).resolve('@markbase/demo-model/package.json')), name);
  } catch {
    return beside;
  }
}
