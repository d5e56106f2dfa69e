// Writes the LoRA adapters of fixtures/adapters for the checkpoint fixtures/31b-hf: node tools/make-adapters.mjs
// (after `pnpm build`). Random numbers with fixed seeds: the same bytes on every machine.
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { openCheckpoint, writeSafetensors } from '../packages/loader/dist/index.js';

const fixtures = fileURLToPath(new URL('../fixtures', import.meta.url));

/** @param {number} seed */
function uniform(seed) {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return ((state >>> 0) / 2 ** 32 - 0.5) * Math.sqrt(12);
  };
}

/**
 * A float32 tensor [rows, columns].
 *
 * @param {string} name
 * @param {number} rows
 * @param {number} columns
 * @param {() => number} next
 */
function tensor(name, rows, columns, next) {
  const values = Float32Array.from({ length: rows * columns }, next);
  return {
    name,
    dtype: /** @type {const} */ ('F32'),
    shape: [rows, columns],
    chunks: () => [new Uint8Array(values.buffer)],
  };
}

const { weights } = await openCheckpoint(path.join(fixtures, '31b-hf'));
const linears = weights
  .names()
  .filter((name) => /\.layers\.\d+\.(?:self_attn|mlp)\.\w+_proj\.weight$/.test(name))
  .map((name) => ({
    module: name.slice('language_model.'.length, -'.weight'.length),
    shape: /** @type {[number, number]} */ (weights.tensor(name).shape),
  }));

/** @param {string} name @param {object} config @param {string} file @param {ReturnType<typeof tensor>[]} tensors */
async function write(name, config, file, tensors) {
  const folder = path.join(fixtures, 'adapters', name);
  await mkdir(folder, { recursive: true });
  await writeSafetensors(path.join(folder, file), tensors);
  await writeFile(path.join(folder, 'adapter_config.json'), `${JSON.stringify(config, null, 2)}\n`);
}

// PEFT: every linear, one rank, one exception from alpha.
const peft = uniform(1);
await write(
  'peft',
  {
    peft_type: 'LORA',
    r: 3,
    lora_alpha: 6,
    alpha_pattern: { 'layers.0.mlp.down_proj': 3 },
    bias: 'none',
    modules_to_save: null,
    target_modules: ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'],
  },
  'adapter_model.safetensors',
  linears.flatMap(({ module, shape: [rows, columns] }) => [
    tensor(
      `base_model.model.model.language_model.${module}.lora_A.weight`,
      3,
      columns,
      () => peft() * columns ** -0.5,
    ),
    tensor(`base_model.model.model.language_model.${module}.lora_B.weight`, rows, 3, () => peft() * 0.15),
  ]),
);

// MLX: transposed factors of another rank, of some linears in some layers.
const mlx = uniform(2);
await write(
  'mlx',
  { fine_tune_type: 'lora', num_layers: 2, lora_parameters: { rank: 5, scale: 2, dropout: 0 } },
  'adapters.safetensors',
  linears
    .filter(({ module }) => /^layers\.[01]\..*\.(?:q|o|up)_proj$/.test(module))
    .flatMap(({ module, shape: [rows, columns] }) => [
      tensor(`language_model.model.${module}.lora_a`, columns, 5, () => mlx() * columns ** -0.5),
      tensor(`language_model.model.${module}.lora_b`, 5, rows, () => mlx() * 0.15),
    ]),
);
