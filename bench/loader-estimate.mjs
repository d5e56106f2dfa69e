// Claim: `estimate` of @markbase/loader is within 2 % of the memory that the engine then uses. Used memory = bytes mapped and allocated
// while a model is loaded, and the buffers of its decode and prefill programs as planned by the recorder. The checkpoints have the released
// sizes, with a sparse file instead of weights. usage: node bench/loader-estimate.mjs [--variants e2b,e4b,12b,26b-a4b,31b] [--context 8192]
// [--json]
import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  estimate,
  expectedModules,
  openCheckpoint,
  parseModelConfig,
} from '../packages/loader/dist/index.js';
import { openDevice } from '../packages/metal-runtime/dist/index.js';
import { mixtureOfExperts } from '../packages/moe/dist/index.js';
import { TextModel } from '../packages/text/dist/index.js';

const { values: flags } = parseArgs({
  options: {
    variants: { type: 'string', default: 'e2b,e4b,12b,26b-a4b,31b' },
    context: { type: 'string', default: '8192' },
    json: { type: 'boolean', default: false },
  },
});

const SMALL = {
  num_attention_heads: 8,
  hidden_size_per_layer_input: 256,
  sliding_window: 512,
  max_position_embeddings: 131_072,
};
const LARGE = {
  attention_k_eq_v: true,
  use_bidirectional_attention: 'vision',
  sliding_window: 1024,
  max_position_embeddings: 262_144,
};
/** Width, layers, F, key/value heads, and whatever else distinguishes a variant. */
const VARIANTS = {
  e2b: sizes(1536, 35, 6144, 1, { ...SMALL, use_double_wide_mlp: true, num_kv_shared_layers: 20 }),
  e4b: sizes(2560, 42, 10_240, 2, { ...SMALL, num_kv_shared_layers: 18 }),
  '12b': sizes(3840, 48, 15_360, 8, { ...LARGE, num_attention_heads: 16, num_global_key_value_heads: 1 }),
  '26b-a4b': sizes(2816, 30, 2112, 8, {
    ...LARGE,
    num_attention_heads: 16,
    num_global_key_value_heads: 2,
    enable_moe_block: true,
    num_experts: 128,
    top_k_experts: 8,
    moe_intermediate_size: 704,
  }),
  '31b': sizes(5376, 60, 21_504, 16, { ...LARGE, num_attention_heads: 32, num_global_key_value_heads: 4 }),
};
const BITS = 4;
const GROUP = 64;
const PREFILL_TOKENS = 512;

/** Thrown instead of running a prefill, after its program has been recorded. */
class Recorded extends Error {}

const rows = [];
for (const variant of flags.variants.split(',')) {
  for (const precision of ['fast', 'high']) rows.push(await compare(variant, precision));
}
if (flags.json) process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
else {
  for (const { variant, precision, usedBytes, estimatedBytes } of rows) {
    const off = (100 * (estimatedBytes / usedBytes - 1)).toFixed(2);
    const sizes = `used ${(usedBytes / 1e9).toFixed(3)} GB, estimated ${(estimatedBytes / 1e9).toFixed(3)} GB`;
    process.stdout.write(`${variant.padEnd(4)} ${precision}  ${sizes}, off by ${off} %\n`);
  }
}

async function compare(variant, precision) {
  const folder = mkdtempSync(join(tmpdir(), 'markbase-estimate-'));
  const device = await openDevice({ kind: 'cpu' });
  try {
    writeSparseCheckpoint(folder, VARIANTS[variant]);
    const options = { precision, contextTokens: Number(flags.context), feedForward: mixtureOfExperts };
    const counted = countingDevice(device);
    const checkpoint = await openCheckpoint(folder);
    const model = await TextModel.load(checkpoint, counted.device, options);
    try {
      model.plan(1);
      await recordPrefill(model);
    } finally {
      model.dispose();
    }
    const { totalBytes } = estimate(checkpoint, { precision, contextTokens: options.contextTokens });
    return { variant, precision, usedBytes: counted.bytes(), estimatedBytes: totalBytes };
  } finally {
    device.dispose();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function recordPrefill(model) {
  const [sequence] = await model.acquire([null]);
  const rows = model.layOut({ ids: Array.from({ length: PREFILL_TOKENS }, () => 5) });
  try {
    await model.prefill([{ sequence, rows }]);
  } catch (error) {
    if (!(error instanceof Recorded)) throw error;
  }
}

/** The device, and the bytes that a model requests from it. */
function countingDevice(device) {
  let bytes = 0;
  const replaced = {
    allocate(sizeBytes, label) {
      bytes += sizeBytes;
      return device.allocate(sizeBytes, label);
    },
    map(range) {
      bytes += range.sizeBytes;
      return device.map(range);
    },
    record(options, build) {
      const program = device.record(options, build);
      bytes += program.plan.arenaBytes;
      if (!options.label.startsWith('prefill')) return program;
      program.dispose();
      throw new Recorded();
    },
  };
  const counting = new Proxy(device, {
    get(target, key) {
      const value = replaced[key] ?? Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { device: counting, bytes: () => bytes };
}

/** A checkpoint in the MLX layout whose weights are a hole in a sparse file, which takes no space. */
function writeSparseCheckpoint(folder, text) {
  const json = { model_type: 'gemma4', text_config: text, quantization: { bits: BITS, group_size: GROUP } };
  const config = parseModelConfig(json, 'config.json');
  const header = { __metadata__: { format: 'mlx' } };
  let end = 0;
  const add = (name, dtype, shape) => {
    const begin = end;
    end += shape.reduce((product, length) => product * length, dtype === 'U32' ? 4 : 2);
    header[name] = { dtype, shape, data_offsets: [begin, end] };
  };
  for (const tensor of expectedModules(config, { hasModule: () => false })) {
    if (tensor.kind === 'vector') {
      add(tensor.name, 'BF16', [tensor.length]);
      continue;
    }
    const { module, rows, columns, experts } = tensor;
    const lead = experts === undefined ? [rows] : [experts, rows];
    add(`${module}.weight`, 'U32', [...lead, (columns * BITS) / 32]);
    for (const part of ['scales', 'biases']) add(`${module}.${part}`, 'BF16', [...lead, columns / GROUP]);
  }
  const headerBytes = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(headerBytes.length));
  const file = openSync(join(folder, 'model.safetensors'), 'w');
  writeSync(file, Buffer.concat([length, headerBytes]));
  ftruncateSync(file, 8 + headerBytes.length + end);
  closeSync(file);
  writeFileSync(join(folder, 'config.json'), JSON.stringify(json));
}

function sizes(hidden, layers, intermediate, kvHeads, others) {
  return {
    model_type: 'gemma4_text',
    vocab_size: 262_144,
    hidden_size: hidden,
    num_hidden_layers: layers,
    intermediate_size: intermediate,
    num_key_value_heads: kvHeads,
    ...others,
  };
}
