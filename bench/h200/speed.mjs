// Parts about speed. Their reference figures are in figures.mjs.
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import {
  ANONYMOUS_LIMIT_BYTES,
  COPY_RATE,
  LOAD_LIMITS_MS,
  LONG_SHARE,
  MANY,
  PEER,
  REQUIRED,
} from './figures.mjs';
import { giga } from './session.mjs';

const BATCHES = [1, 4, 16, 32, 64, 128];
const PROMPTS = [128, 512, 2048];
const SHOWN_KINDS = 24;
/** Sizes of a rehearsal's towers, instead of the released ones. */
const TINY_TOWER = { hidden: 64, inner: 128, layers: 1, heads: 2, headDim: 64, textWidth: 64 };
const TINY_SOUND_TOWER = { layers: 1, width: 256, textWidth: 64 };
const WARM_UP = ['--prompt', '128', '--batch', '1', '--generate', '1', '--reps', '1'];

/** Rates of decode and prefill compared with the peer's, time to the first token, memory. */
export async function speed(session, check, variant) {
  const folder = await modelOf(session, check, variant);
  if (!folder) return null;
  const bench = (args) => session.json(['bench', '--model', folder, '--device', 'cuda', ...args]);
  const [reps, steps] = session.isTiny ? ['1', '2'] : ['5', '64'];
  // Warms the page cache, and the driver's cache of kernels.
  const first = await bench(WARM_UP);
  check(`${variant} runs`, first.failure === null, first.failure ?? '');
  if (first.failure !== null) return null;
  const decode = await bench([
    ...['--prompt', '128', '--batch', BATCHES.join(), '--generate', steps, '--reps', reps],
  ]);
  const prompts = session.isTiny ? '128' : PROMPTS.join();
  const prefill = await bench(['--prompt', prompts, '--batch', '1', '--generate', '1', '--reps', reps]);
  for (const [name, { failure }] of Object.entries({ decode, prefill })) {
    check(`${name} of ${variant} is measured`, failure === null, failure ?? '');
  }
  const rates = {
    decode: Object.fromEntries((decode.value?.decode ?? []).map((row) => [row.batch, row.tokensPerSecond])),
    prefill: Object.fromEntries(
      (prefill.value?.prefill ?? []).map((row) => [row.promptTokens, row.tokensPerSecond]),
    ),
  };
  for (const kind of ['decode', 'prefill']) {
    for (const [count, { median, min, max }] of Object.entries(rates[kind])) {
      const peer = PEER[variant][kind][count];
      session.say(
        `${kind} ${count}: ${median.toFixed(0)} tokens/s (${min.toFixed(0)} to ${max.toFixed(0)})` +
          (peer ? `, ${(median / peer).toFixed(2)} of the peer's` : ''),
      );
      const required = peer ? REQUIRED[kind] * peer : kind === 'decode' && MANY[variant]?.[count]?.required;
      if (!required || session.isTiny) continue;
      const detail = `${median.toFixed(0)} tokens/s, ${required} required`;
      check(`${kind} ${count} of ${variant}`, median >= required, detail);
    }
  }
  const { loadMs, firstToken, anonymousBytes, peakRssBytes, bytesPerToken } = decode.value ?? {};
  if (!decode.value) return { rates };
  const firstTokenMs = loadMs + firstToken.ms;
  session.say(
    `load ${loadMs.toFixed(0)} ms, first token after ${firstTokenMs.toFixed(0)} ms; anonymous memory ${giga(anonymousBytes)}, ` +
      `peak ${giga(peakRssBytes)}; a token reads ${giga(bytesPerToken)}`,
  );
  if (!session.isTiny) {
    const limit = LOAD_LIMITS_MS[variant];
    if (limit)
      check(`first token of ${variant}`, firstTokenMs < limit, `${firstTokenMs.toFixed(0)} of ${limit} ms`);
    const detail = `${giga(anonymousBytes)} of ${giga(ANONYMOUS_LIMIT_BYTES)}`;
    check(`anonymous memory of ${variant}`, anonymousBytes < ANONYMOUS_LIMIT_BYTES, detail);
  }
  return { rates, loadMs, firstTokenMs, anonymousBytes, peakRssBytes, bytesPerToken };
}

/** Time of every kind of command, with the bytes that it reads. */
export async function profile(session, check, variant) {
  const model = await modelOf(session, check, variant);
  if (!model) return null;
  const parameters = session.isTiny
    ? { model, batches: [1, 4], prompts: [32], depth: 32, steps: 2 }
    : { model, batches: BATCHES, prompts: [512], depth: 128, steps: 32 };
  const rows = [];
  const { failure } = await session.worker('profile', parameters, {
    onLine: (line) => {
      const row = JSON.parse(line);
      rows.push(row);
      for (const text of profileLines(row)) session.say(text);
    },
  });
  check(`profile of ${variant}`, failure === null, failure ?? '');
  return rows;
}

function profileLines({ step, rows, depth, msPerStep, commands }) {
  const sum = (key) => commands.reduce((total, each) => total + each[key], 0);
  const [ms, bytes] = [sum('ms'), sum('bytes')];
  const floor = (1000 * bytes) / COPY_RATE;
  return [
    `${step} of ${rows} after ${depth}: ${msPerStep.toFixed(3)} ms per step; command by command ${ms.toFixed(3)} ms, ` +
      `${giga(bytes)}, at least ${floor.toFixed(3)} ms (${((100 * floor) / msPerStep).toFixed(0)}%)`,
    '      ms  share  count       MB     GB/s  command',
    ...commands
      .slice(0, SHOWN_KINDS)
      .map((each) =>
        [
          each.ms.toFixed(4).padStart(8),
          `${((100 * each.ms) / ms).toFixed(1)}%`.padStart(6),
          String(each.count).padStart(6),
          (each.bytes / 1e6).toFixed(1).padStart(8),
          (each.bytesPerSecond / 1e9).toFixed(0).padStart(8),
          ` ${each.name}`,
        ].join(' '),
      ),
  ];
}

/** Decode after many tokens, as a share of the limit set by the copy rate, and a long prompt. */
export async function long(session, check, variant) {
  const folder = await modelOf(session, check, variant);
  if (!folder) return null;
  const bench = (args) =>
    session.json(['bench', '--model', folder, '--device', 'cuda', '--reps', '2', ...args]);
  const depths = session.isTiny ? [200, 1000, 4000] : [1024, 32_768, 130_000];
  const [prompt, steps] = session.isTiny ? ['300', '2'] : ['32768', '32'];
  const once = ['--batch', '1', '--generate', steps];
  const decode = await bench(['--prompt', '128', '--depth', depths.join(), ...once]);
  check(`long decode of ${variant}`, decode.failure === null, decode.failure ?? '');
  const { bytesPerToken } = decode.value ?? {};
  const rows = (decode.value?.decode ?? []).map(({ depthTokens, tokensPerSecond, cacheBytesPerToken }) => {
    const bytes = bytesPerToken + cacheBytesPerToken;
    const share = (tokensPerSecond.median * bytes) / COPY_RATE;
    session.say(
      `decode after ${depthTokens}: ${tokensPerSecond.median.toFixed(1)} tokens/s, ${giga(bytes)} per token, ` +
        `${(100 * share).toFixed(1)}% of the copy rate`,
    );
    return { depthTokens, tokensPerSecond, bytes, share };
  });
  for (const { depthTokens, share } of session.isTiny ? [] : rows.slice(1)) {
    const kept = share / rows[0].share;
    check(
      `decode of ${variant} after ${depthTokens}`,
      kept >= LONG_SHARE,
      `${kept.toFixed(2)} of the share at ${depths[0]}`,
    );
  }
  const prefill = await bench(['--prompt', prompt, ...once]);
  check(`long prompt of ${variant}`, prefill.failure === null, prefill.failure ?? '');
  const rate = prefill.value?.prefill[0].tokensPerSecond;
  if (rate) session.say(`prefill of ${prompt}: ${rate.median.toFixed(0)} tokens/s`);
  return { rows, prefill: rate ?? null };
}

/** Pictures and sound through towers of the released shapes; soft tokens are compared with the CPU's. */
export async function towers(session, check) {
  const folder = path.join(session.work, 'tower');
  const rounds = session.isTiny ? 1 : 5;
  const budgets = session.isTiny ? [70] : [70, 140, 280, 560, 1120];
  const profiled = session.isTiny ? [70] : [280, 1120];
  // The CPU takes a minute for a large budget.
  const compared = { e2b: session.isTiny ? [70] : [70, 280], large: [70] };
  const seconds = session.isTiny ? [1] : [10, 30];
  const tasks = [
    ...['e2b', 'large'].map((shape) => [
      'vision',
      {
        folder,
        shape,
        tower: session.isTiny ? TINY_TOWER : {},
        budgets,
        profiled,
        compared: compared[shape],
        rounds,
      },
    ]),
    ['audio', { folder, tower: session.isTiny ? TINY_SOUND_TOWER : {}, seconds, rounds }],
  ];
  const found = [];
  const asked =
    session.options.towers?.split(',') ?? (session.isTiny ? ['e2b', 'audio'] : ['e2b', 'large', 'audio']);
  for (const [task, parameters] of tasks.filter(([task, { shape }]) => asked.includes(shape ?? task))) {
    const onLine = (line) => {
      const row = JSON.parse(line);
      found.push(row);
      if (row.section) checkSection(session, check, row.section);
      else if (row.profiled) for (const text of towerLines(row)) session.say(text);
      else if (row.budget) {
        session.say(
          `${row.shape}, budget ${row.budget}: ${row.softTokens} soft tokens in ${row.ms.toFixed(2)} ms, ` +
            `${row.wholeMs.toFixed(2)} with the resize`,
        );
      } else {
        session.say(
          `${row.seconds} s of sound: ${row.softTokens} soft tokens in ${row.ms.toFixed(1)} ms, ` +
            `real-time factor ${row.realTimeFactor.toFixed(5)}`,
        );
      }
    };
    const { failure } = await session.worker(task, parameters, { onLine });
    check(`${task} ${parameters.shape ?? ''}`.trim(), failure === null, failure ?? '');
  }
  return found;
}

function towerLines({ profiled, commands }) {
  const all = commands.reduce((total, { ms }) => total + ms, 0);
  return [
    `${profiled}, command by command: ${all.toFixed(3)} ms`,
    '      ms  share  count  command',
    ...commands
      .slice(0, SHOWN_KINDS)
      .map(({ ms, count, name }) =>
        [
          ms.toFixed(4).padStart(8),
          `${((100 * ms) / all).toFixed(1)}%`.padStart(6),
          String(count).padStart(6),
          ` ${name}`,
        ].join(' '),
      ),
  ];
}

function checkSection(session, check, { name, precision, pass, relRms, tolerance }) {
  const detail = `relative rms ${relRms?.toExponential(1)} of ${tolerance?.toExponential(1)}`;
  session.say(`${name}, ${precision}, compared with the CPU's: ${detail}`);
  check(`soft tokens: ${name} in ${precision}`, pass, detail);
}

/** The folder of a random checkpoint of a variant, written if it does not exist; null if that failed. */
async function modelOf(session, check, variant) {
  const { models } = session.options;
  const folder = path.join(models, `${variant}${session.isTiny ? '-tiny' : ''}`);
  if (existsSync(path.join(folder, 'config.json'))) return folder;
  mkdirSync(models, { recursive: true });
  const write = () =>
    session.json(['synth', '--variant', variant, '--out', folder, ...(session.isTiny ? ['--tiny'] : [])]);
  const start = performance.now();
  let { value, failure } = await write();
  if (failure?.includes('are free on that disk')) {
    for (const name of readdirSync(models)) rmSync(path.join(models, name), { recursive: true });
    ({ value, failure } = await write());
  }
  check(`${variant} is written`, failure === null, failure ?? '');
  if (failure !== null) return null;
  const seconds = (performance.now() - start) / 1000;
  session.say(`wrote ${giga(value.sizeBytes)} in ${seconds.toFixed(1)} s`);
  return folder;
}
