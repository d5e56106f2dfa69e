// Claim: bringing the positions of a prompt back from a file is at least ten times faster than reading the prompt again (CPU), and never
// slower (GPU). Alternates between the two: a model that finds the prompt in a folder, and one that does not. The file is in the
// page cache.
// usage: node bench/restore.mjs [--model DIR] [--tokens 1920] [--device cpu] [--precision fast] [--rounds 3] [--json]
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { modelPath } from '../packages/demo-model/dist/index.js';
import { openCheckpoint } from '../packages/loader/dist/index.js';
import { openDevice } from '../packages/metal-runtime/dist/index.js';
import { mixtureOfExperts } from '../packages/moe/dist/index.js';
import { TextModel } from '../packages/text/dist/index.js';
import { seededRandom } from './lib/seeded-random.mjs';
import { shown, spread } from './lib/statistics.mjs';

const { values: flags } = parseArgs({
  options: {
    model: { type: 'string', default: modelPath },
    tokens: { type: 'string', default: '1920' },
    device: { type: 'string', default: 'cpu' },
    precision: { type: 'string', default: 'fast' },
    rounds: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
  },
});
const tokens = Number(flags.tokens);
const random = seededRandom(1);
const device = await openDevice({ kind: /** @type {'cpu'} */ (flags.device) });
const checkpoint = await openCheckpoint(flags.model);
const folder = mkdtempSync(path.join(tmpdir(), 'markbase-restore-'));
const ids = Array.from({ length: tokens }, () => random.integer(300, 1000));
const times = { read: [], restored: [] };
let bytes = 0;
let reused = 0;
try {
  for (let round = 0; round <= Number(flags.rounds); round += 1) {
    // The first of each pair fills the folder; the first pair of all also warms up.
    const read = await firstToken(path.join(folder, `${round}`));
    const restored = await firstToken(path.join(folder, `${round}`));
    reused = restored.reusedTokens;
    if (round === 0) continue;
    times.read.push(read.milliseconds);
    times.restored.push(restored.milliseconds);
  }
  const sizes = readdirSync(path.join(folder, '0')).map(
    (name) => statSync(path.join(folder, '0', name)).size,
  );
  bytes = Math.max(...sizes);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
device.dispose();

const result = { tokens, reused, bytes, readMs: spread(times.read), restoredMs: spread(times.restored) };
const ratio = result.readMs.median / result.restoredMs.median;
if (flags.json) console.log(JSON.stringify({ ...result, ratio }));
else {
  console.log(`${tokens} positions, ${reused} of them in a file of ${(bytes / 1e6).toFixed(1)} MB`);
  console.log(
    `read again ${shown(result.readMs)} ms, restored ${shown(result.restoredMs)} ms: ${ratio.toFixed(1)} times faster`,
  );
}

/** Time from a prompt to its first token, with a new model whose folder may know it. */
async function firstToken(directory) {
  const model = await TextModel.load(checkpoint, device, {
    precision: /** @type {'fast'} */ (flags.precision),
    contextTokens: tokens + 64,
    feedForward: mixtureOfExperts,
    savedPrefixes: { directory, maxBytes: 1e12 },
  });
  // Programs are recorded, weights are touched, and the folder has been read.
  const warm = model.layOut({ ids: ids.slice(0, 40).reverse() });
  await compute(model, warm);
  const rows = model.layOut({ ids });
  const begin = performance.now();
  const { reusedTokens } = await compute(model, rows);
  const milliseconds = performance.now() - begin;
  await model.finishSaving();
  model.dispose();
  return { milliseconds, reusedTokens };
}

async function compute(model, rows) {
  const [sequence] = await model.acquire([rows]);
  const { reusedTokens } = sequence;
  await model.prefill([{ sequence, rows }]);
  model.release([sequence]);
  return { reusedTokens };
}
