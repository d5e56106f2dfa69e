import { acquireAt } from '../../apps/playground/src/bench/acquire-at.ts';
import { randomTokens } from '../../apps/playground/src/bench/random-tokens.ts';
import { openCheckpoint } from '../../packages/loader/dist/index.js';
import { openDevice } from '../../packages/metal-runtime/dist/index.js';
import { mixtureOfExperts } from '../../packages/moe/dist/index.js';
import { TextModel } from '../../packages/text/dist/index.js';
import { kindsOf, measured } from './command-times.mjs';

/**
 * Prints one line per decode batch and per prompt length (one step): milliseconds of a complete step, and by kind of command. Commands are
 * timed one by one, so their sum includes the gaps between launches, which a graph does not have.
 *
 * @param {{ model: string, batches: number[], prompts: number[], depth: number, steps: number }} parameters
 */
export async function profile({ model: folder, batches, prompts, depth, steps }, print) {
  const checkpoint = await openCheckpoint(folder);
  using device = await openDevice({ kind: 'cuda' });
  const tokens = randomTokens(checkpoint.config, 20_011);
  for (const [step, counts] of Object.entries({ decode: batches, prefill: prompts })) {
    for (const rows of counts) {
      const shape = { step, rows, depth: step === 'decode' ? depth : 0, steps, tokens };
      const whole = await timeSteps(checkpoint, device, shape);
      const programs = [];
      await timeSteps(checkpoint, measured(device, programs), shape, programs);
      const commands = costs(programs, checkpoint, shape);
      print({ step, rows, depth: shape.depth, msPerStep: whole, commands });
    }
  }
}

/** Milliseconds of a warm step, with the profiles of `programs` before and after. */
async function timeSteps(checkpoint, device, { step, rows, depth, steps, tokens }, programs = []) {
  const isDecode = step === 'decode';
  using model = await TextModel.load(checkpoint, device, {
    feedForward: mixtureOfExperts,
    contextTokens: (isDecode ? depth + 3 * steps : rows) + 1,
    ...(isDecode ? { maxSequences: rows } : { prefillChunk: rows }),
  });
  const decode = async (sequences, count) => {
    for (let i = 0; i < count; i++) {
      // Random tokens, so that rows choose their experts independently.
      await model.decode(sequences.map((sequence) => ({ sequence, token: tokens(1)[0] })));
    }
  };
  const prefill = async (count) => {
    for (let i = 0; i < count; i++) {
      const [sequence] = await model.acquire([null]);
      await model.prefill([{ sequence, rows: model.layOut({ ids: tokens(rows) }) }]);
      model.release([sequence]);
    }
  };
  const { sequences } = isDecode ? await acquireAt(model, { batch: rows, depth, tokens }) : { sequences: [] };
  const run = (count) => (isDecode ? decode(sequences, count) : prefill(count));
  await run(Math.min(4, steps));
  for (const entry of programs) entry.before = entry.program.profile();
  const start = performance.now();
  await run(steps);
  const milliseconds = (performance.now() - start) / steps;
  for (const entry of programs) {
    entry.after = entry.program.profile();
    entry.plan = entry.program.plan;
    const outputs = isDecode ? rows : 1;
    const isWhole = entry.program.label.startsWith(step);
    entry.dispatches = isWhole ? entry.program.planStep({ rows, outputs, positions: depth + rows }) : [];
  }
  model.release(sequences);
  return milliseconds;
}

/** Commands of the step by their launches, most expensive first: milliseconds, bytes of weights, keys and values, and rate. */
function costs(programs, checkpoint, shape) {
  // The last program is that of the step, because a decode is preceded by a prefill.
  const step = programs.filter(({ program }) => program.label.startsWith(shape.step)).at(-1);
  const { steps } = shape;
  return kindsOf({
    ...step,
    steps,
    bytesOf: (command) => bytesOf(command, checkpoint.config.text, shape),
  }).map((kind) => ({ ...kind, bytesPerSecond: kind.ms > 0 ? (1000 * kind.bytes) / kind.ms : 0 }));
}

function bytesOf({ label, kernel, weightBytes }, { experts, layers, slidingWindow }, { rows, depth, step }) {
  if (experts && kernel.startsWith('moe_linear')) {
    // The plan counts the experts of one row; this is the number that independent rows choose.
    const distinct = experts.count * (1 - (1 - experts.topK / experts.count) ** rows);
    return (weightBytes * distinct) / experts.topK;
  }
  if (!kernel.startsWith('attention')) return weightBytes;
  const { kind, kvHeadCount, headDim } = layers[Number(/^layer (\d+)/.exec(label)[1])];
  const positions = depth + (step === 'decode' ? 1 : rows);
  const seen = kind === 'full' ? positions : Math.min(positions, slidingWindow);
  // Rows of a prompt share keys and values, which are bfloat16.
  return (step === 'decode' ? rows : 1) * seen * kvHeadCount * headDim * 2 * 2;
}
