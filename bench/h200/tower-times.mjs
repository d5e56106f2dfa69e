import { mkdir, rm } from 'node:fs/promises';
import { AudioModel } from '../../packages/audio/dist/index.js';
import { encoderSection } from '../../packages/loader/dist/index.js';
import { openDevice } from '../../packages/metal-runtime/dist/index.js';
import { pictureOf, prepareImage, VisionModel } from '../../packages/vision/dist/index.js';
import { writeAudioCheckpoint } from '../lib/audio-checkpoint.mjs';
import { spread } from '../lib/statistics.mjs';
import { TOWERS, writeVisionCheckpoint } from '../lib/vision-checkpoint.mjs';
import { kindsOf, measured } from './command-times.mjs';

const SAMPLE_RATE_HZ = 16_000;
const PRECISIONS = ['fast', 'high'];

/**
 * 4:3 pictures through a vision tower of a released shape. Prints one line per budget with milliseconds per picture (`whole` includes the
 * resize on the processor), one per profiled budget with the time of every kind of command, and one per precision that compares soft tokens
 * with those of the CPU in `high`.
 *
 * @param {{ folder: string, shape: string, tower: object, budgets: number[], profiled: number[], compared: number[], rounds: number }}
 *   parameters
 */
export async function vision({ folder, shape, tower, budgets, profiled, compared, rounds }, print) {
  await writeFolder(folder, () => writeVisionCheckpoint(folder, { ...TOWERS[shape], ...tower }));
  const photograph = picture(800, 600);
  const encode = async (model, budget) => {
    const { patches } = await prepareImage(photograph, { budget, layout: model.layout });
    const prepared = pictureOf(patches, model.config.kind);
    const start = performance.now();
    const outputs = await model.observe([prepared], ['soft']);
    return { milliseconds: performance.now() - start, values: outputs.soft[0], rows: prepared.softTokens };
  };
  await onDevice('cuda', VisionModel, folder, 'fast', async (model) => {
    for (const budget of budgets) {
      const { rows } = await encode(model, budget);
      const steps = await repeat(rounds, () => encode(model, budget).then((run) => run.milliseconds));
      const whole = await repeat(rounds, () => timed(() => model.encode(photograph, { budget })));
      print({ shape, budget, softTokens: rows, ms: spread(steps).median, wholeMs: spread(whole).median });
    }
  });
  for (const budget of profiled) {
    const { commands } = await profileOf(VisionModel, folder, rounds, (model) => encode(model, budget));
    print({ shape, profiled: `${shape}, budget ${budget}`, commands });
  }
  for (const budget of compared) {
    await compareWithCpu(
      VisionModel,
      folder,
      `${shape}, budget ${budget}`,
      (model) => encode(model, budget),
      print,
    );
  }
  await rm(folder, { recursive: true });
}

/**
 * Sound through the tower of E2B and E4B. Prints one line per duration with the real-time factor, then a profile and the comparison as for
 * `vision`.
 *
 * @param {{ folder: string, tower: object, seconds: number[], rounds: number }} parameters
 */
export async function audio({ folder, tower, seconds, rounds }, print) {
  await writeFolder(folder, () => writeAudioCheckpoint(folder, tower));
  const encode = async (model, length) => {
    const { values, rows } = await model.encodeSamples(sound(length));
    return { values, rows };
  };
  await onDevice('cuda', AudioModel, folder, 'fast', async (model) => {
    for (const length of seconds) {
      const { rows } = await encode(model, length);
      const times = await repeat(rounds, () => timed(() => encode(model, length)));
      const ms = spread(times).median;
      print({ seconds: length, softTokens: rows, ms, realTimeFactor: ms / 1000 / length });
    }
  });
  const [shortest] = seconds;
  const { commands } = await profileOf(AudioModel, folder, rounds, (model) => encode(model, shortest));
  print({ profiled: `audio, ${shortest} s`, commands });
  await compareWithCpu(AudioModel, folder, `audio, ${shortest} s`, (model) => encode(model, shortest), print);
  await rm(folder, { recursive: true });
}

/** Time of every kind of command, timed one by one, including the gaps between launches. */
async function profileOf(Model, folder, rounds, encode) {
  using device = await openDevice({ kind: 'cuda' });
  const programs = [];
  const model = await Model.load(folder, measured(device, programs), { precision: 'fast', cacheBytes: 0 });
  try {
    const { rows } = await encode(model);
    const used = programs.map(({ program }) => program).filter(isThere);
    const starts = used.map((program) => program.profile());
    await repeat(rounds, () => encode(model));
    const kinds = used.flatMap((program, i) =>
      kindsOf({
        plan: program.plan,
        // Patches per soft token; for sound, the rows of the tower's widest step.
        dispatches:
          Model === VisionModel
            ? program.planStep({ rows: 9 * rows, outputs: rows, positions: 9 * rows })
            : [],
        before: starts[i],
        after: program.profile(),
        steps: rounds,
      }),
    );
    return { commands: kinds.filter(({ ms }) => ms > 0) };
  } finally {
    model.dispose();
  }
}

/** Programs that a model only needs while loading have been disposed. */
function isThere(program) {
  try {
    program.profile();
    return true;
  } catch {
    return false;
  }
}

async function compareWithCpu(Model, folder, name, encode, print) {
  const expected = await onDevice('cpu', Model, folder, 'high', encode);
  for (const precision of PRECISIONS) {
    const actual = await onDevice('cuda', Model, folder, precision, encode);
    const shape = { width: expected.values.length / expected.rows, isExact: precision === 'high' };
    print({ section: { ...encoderSection(name, actual.values, expected.values, shape), precision } });
  }
}

async function onDevice(kind, Model, folder, precision, work) {
  using device = await openDevice({ kind });
  const model = await Model.load(folder, device, { precision, cacheBytes: 0 });
  try {
    return await work(model);
  } finally {
    model.dispose();
  }
}

/** An earlier run may have left parts of it. */
async function writeFolder(folder, write) {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await write();
}

async function repeat(count, measure) {
  const values = [];
  for (let i = 0; i < count; i++) values.push(await measure());
  return values;
}

async function timed(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function picture(width, height) {
  const data = Uint8Array.from({ length: width * height * 3 }, (_, i) => (i * 7 + (i >> 5)) % 256);
  return { data, width, height, channels: 3 };
}

/** Tones that come and go. */
function sound(seconds) {
  return Float32Array.from({ length: seconds * SAMPLE_RATE_HZ }, (_, i) => {
    const time = i / SAMPLE_RATE_HZ;
    return 0.4 * Math.sin(4 * time) ** 2 * Math.sin(2 * Math.PI * (220 + 180 * Math.sin(time)) * time);
  });
}
