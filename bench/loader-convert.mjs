// Claim: a checkpoint of bfloat16 weights is converted to 4 bits at 150 MB of input per second per core, or faster. The
// checkpoint is generated: matrices of 4096 columns in one file. The codec alone is measured in memory, the whole
// conversion (read, quantise, write, sync) in a folder; --peer runs the same formula in numpy.
// usage: node bench/loader-convert.mjs [--megabytes 512] [--rounds 3] [--peer python3] [--folder DIR] [--json]
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import {
  quantizeAffine,
  quantizeCheckpoint,
  toFloat32,
  writeShardedCheckpoint,
} from '../packages/loader/dist/index.js';
import { shown, spread } from './lib/statistics.mjs';

const { values: flags } = parseArgs({
  options: {
    megabytes: { type: 'string', default: '512' },
    rounds: { type: 'string', default: '3' },
    peer: { type: 'string' },
    folder: { type: 'string', default: tmpdir() },
    json: { type: 'boolean', default: false },
  },
});

const COLUMNS = 4096;
const ROWS = 2048;
const OPTIONS = { bits: 4, groupSize: 64 };
const matrixBytes = 2 * ROWS * COLUMNS;
const matrixCount = Math.max(1, Math.round((Number(flags.megabytes) * 1e6) / matrixBytes));
const matrix = randomBfloat16(ROWS * COLUMNS);

/** Megabytes of input per second of wall time and per second of processor time of all threads. */
function rates(bytes, work) {
  const before = process.cpuUsage();
  const beginMs = performance.now();
  const finish = () => {
    const { user, system } = process.cpuUsage(before);
    const seconds = (performance.now() - beginMs) / 1000;
    return { wall: bytes / 1e6 / seconds, core: bytes / ((user + system) / 1e6) / 1e6 };
  };
  const result = work();
  return result instanceof Promise ? result.then(finish) : finish();
}

const folder = mkdtempSync(join(flags.folder, 'markbase-convert-'));
try {
  const source = join(folder, 'source');
  const tensors = Array.from({ length: matrixCount }, (_, index) => ({
    name: `model.language_model.layers.${index}.mlp.up_proj.weight`,
    dtype: 'BF16',
    shape: [ROWS, COLUMNS],
    chunks: () => [matrix],
  }));
  await writeShardedCheckpoint(source, tensors, { maxShardBytes: 2 ** 40 });
  writeFileSync(join(source, 'config.json'), JSON.stringify(config()));
  const kernel = [];
  const whole = [];
  const peer = [];
  const quantize = () =>
    quantizeAffine(toFloat32(matrix, 'BF16'), ROWS, COLUMNS, { ...OPTIONS, scaleDtype: 'BF16' });
  quantize();
  for (let round = 0; round < Number(flags.rounds); round += 1) {
    for (let i = 0; i < 4; i += 1) kernel.push(rates(matrix.length, quantize));
    const target = join(folder, `target-${round}`);
    whole.push(await rates(matrix.length * matrixCount, () => quantizeCheckpoint(source, target, OPTIONS)));
    rmSync(target, { recursive: true });
    if (flags.peer) peer.push(runPeer(join(source, 'model.safetensors')));
  }
  report({ kernel, whole, peer });
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** The peer prints its own rates: it reads, quantises and writes the same file, with one thread. */
function runPeer(file) {
  const script = fileURLToPath(new URL('lib/quantize-numpy.py', import.meta.url));
  const run = spawnSync(flags.peer, [script, file, join(folder, 'peer.bin')], { encoding: 'utf8' });
  if (run.status === 0) return JSON.parse(run.stdout);
  process.stderr.write(run.stderr);
  process.exit(1);
}

function report(runs) {
  const rows = Object.entries(runs)
    .filter(([, list]) => list.length > 0)
    .map(([name, list]) => ({
      name,
      wall: spread(list.map(({ wall }) => wall)),
      core: spread(list.map(({ core }) => core)),
    }));
  if (flags.json) {
    process.stdout.write(
      `${JSON.stringify({ megabytes: (matrixBytes * matrixCount) / 1e6, rows }, null, 2)}\n`,
    );
    return;
  }
  process.stdout.write(
    `${Math.round((matrixBytes * matrixCount) / 1e6)} MB of bfloat16, 4 bits, groups of 64\n`,
  );
  for (const { name, wall, core } of rows) {
    process.stdout.write(
      `${name.padEnd(8)} MB/s of wall time ${shown(wall)}   MB/s per core ${shown(core)}\n`,
    );
  }
}

/** Values distributed like weights, the same in every run. */
function randomBfloat16(count) {
  const halves = new Uint16Array(count);
  let state = 1;
  for (let i = 0; i < count; i += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    halves[i] = 0x3c00 | ((state >>> 16) & 0x83ff);
  }
  return new Uint8Array(halves.buffer);
}

function config() {
  return {
    model_type: 'gemma4_text',
    hidden_size: COLUMNS,
    num_hidden_layers: matrixCount,
    num_attention_heads: 16,
    num_key_value_heads: 8,
    intermediate_size: ROWS,
    vocab_size: 1000,
    sliding_window: 512,
  };
}
