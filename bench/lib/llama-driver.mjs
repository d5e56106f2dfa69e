// Times llama.cpp below the JavaScript interface of node-llama-cpp: load, prefill and decode of random tokens, as JSON.
// usage: node llama-driver.mjs --peer DIR --gguf FILE [--threads 2] [--prompt 128,512] [--generate 64] [--batch 1]
//        [--reps 3] [--vocabulary 200000] [--greedy] [--gpu]
//   --peer    a folder with node_modules/node-llama-cpp (3.22.1)
//   --vocabulary  tokens are below this number
//   --greedy chooses each next token with llama.cpp's sampler; without it, decode measures evaluation alone
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { spread } from './statistics.mjs';

const { values: flags } = parseArgs({
  options: {
    peer: { type: 'string' },
    gguf: { type: 'string' },
    threads: { type: 'string', default: '2' },
    prompt: { type: 'string', default: '128,512' },
    generate: { type: 'string', default: '64' },
    batch: { type: 'string', default: '1' },
    reps: { type: 'string', default: '3' },
    vocabulary: { type: 'string', default: '200000' },
    greedy: { type: 'boolean', default: false },
    gpu: { type: 'boolean', default: false },
  },
});
if (!flags.peer || !flags.gguf) {
  process.stderr.write('--peer DIR and --gguf FILE are needed\n');
  process.exit(1);
}

const list = (text) => text.split(',').map(Number);
const [threads, generated, reps] = [flags.threads, flags.generate, flags.reps].map(Number);
const prompts = list(flags.prompt);
const batches = list(flags.batch);
/** Position at which a decode run starts. */
const DECODE_DEPTH = 128;
/** Ordinary tokens are between the byte tokens and the special tokens at the end of the vocabulary. */
const TOKENS = { first: 300, count: Number(flags.vocabulary) - 300 };
/** llama.cpp sizes its caches in blocks of this many cells. */
const CONTEXT_STEP = 256;

const entry = join(resolve(flags.peer), 'node_modules', 'node-llama-cpp', 'dist', 'index.js');
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(entry).href);
const llama = await getLlama({
  gpu: flags.gpu ? 'cuda' : false,
  build: 'never',
  skipDownload: true,
  maxThreads: 0,
  logLevel: LlamaLogLevel.error,
});
const addon = llama._bindings;

const loadStart = performance.now();
const model = new addon.AddonModel(resolve(flags.gguf), {
  addonExports: addon,
  gpuLayers: flags.gpu ? 999 : 0,
  useMmap: true,
  useMlock: false,
  lazyMode: false,
});
if (!(await model.init())) throw new Error(`${flags.gguf} was not loaded`);
const loadMs = performance.now() - loadStart;

const random = lehmer(20_011);
const tokens = (count) => Uint32Array.from({ length: count }, () => TOKENS.first + (random() % TOKENS.count));

const single = await openContext(1);
const firstTokenMs = await warmUp(single);
const prefill = [];
for (const count of prompts) prefill.push(await measurePrefill(single, count));
await single.dispose();

const decode = [];
for (const sequences of batches) {
  const context = await openContext(sequences);
  await warmUp(context);
  decode.push(await measureDecode(context, sequences));
  await context.dispose();
}

process.stdout.write(
  `${JSON.stringify({
    engine: `node-llama-cpp, llama.cpp ${llama.llamaCppRelease?.release ?? ''}`.trim(),
    threads,
    loadMs,
    firstTokenMs,
    prefill,
    decode,
    peakRssBytes: peakRssBytes(),
  })}\n`,
);
// The addon keeps threads that would prevent the process from exiting.
process.exit(0);

async function openContext(sequences) {
  const longest = Math.max(...prompts, DECODE_DEPTH) + generated + 1;
  const context = new addon.AddonContext(model, {
    contextSize: Math.ceil(longest / CONTEXT_STEP) * CONTEXT_STEP * sequences,
    batchSize: Math.max(512, ...prompts),
    sequences,
    threads,
    flashAttention: 'auto',
  });
  if (!(await context.init())) throw new Error('llama.cpp could not create a context');
  return context;
}

/** The first step of a context; returns its time in milliseconds. */
async function warmUp(context) {
  const { seconds } = await evaluate(context, [{ sequence: 0, position: 0, tokens: tokens(16) }]);
  context.disposeSequence(0);
  return seconds * 1000;
}

/** One batch; returns its time and the logit index of every part's last token. */
async function evaluate(context, parts) {
  context.initBatch(parts.reduce((sum, part) => sum + part.tokens.length, 0));
  const outputs = parts.flatMap((part) => [
    ...context.addToBatch(part.sequence, part.position, part.tokens, Uint32Array.of(part.tokens.length - 1)),
  ]);
  const start = performance.now();
  await context.decodeBatch();
  return { seconds: (performance.now() - start) / 1000, outputs };
}

async function measurePrefill(context, count) {
  const tokensPerSecond = [];
  for (let rep = 0; rep < reps; rep += 1) {
    const { seconds } = await evaluate(context, [{ sequence: 0, position: 0, tokens: tokens(count) }]);
    tokensPerSecond.push(count / seconds);
    context.disposeSequence(0);
  }
  return { promptTokens: count, tokensPerSecond: { ...spread(tokensPerSecond), values: tokensPerSecond } };
}

async function measureDecode(context, sequences) {
  const sampler = new addon.AddonSampler(model);
  sampler.applyConfig({ temperature: 0 });
  const all = Array.from({ length: sequences }, (_, index) => index);
  const tokensPerSecond = [];
  for (let rep = 0; rep < reps; rep += 1) {
    for (const sequence of all)
      await evaluate(context, [{ sequence, position: 0, tokens: tokens(DECODE_DEPTH) }]);
    let next = all.map(() => tokens(1));
    const start = performance.now();
    for (let step = 0; step < generated; step += 1) {
      const position = DECODE_DEPTH + step;
      const parts = all.map((sequence) => ({ sequence, position, tokens: next[sequence] }));
      const { outputs } = await evaluate(context, parts);
      next = flags.greedy
        ? await Promise.all(outputs.map(async (at) => Uint32Array.of(await context.sampleToken(at, sampler))))
        : all.map(() => tokens(1));
    }
    tokensPerSecond.push((sequences * generated * 1000) / (performance.now() - start));
    for (const sequence of all) context.disposeSequence(sequence);
  }
  return {
    batch: sequences,
    depthTokens: DECODE_DEPTH,
    tokensPerSecond: { ...spread(tokensPerSecond), values: tokensPerSecond },
  };
}

function peakRssBytes() {
  const kilobytes = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  return Number(kilobytes) * 1024;
}

/** Park and Miller's minimal standard generator. */
function lehmer(seed) {
  let state = seed;
  return () => {
    state = (state * 48271) % 2147483647;
    return state;
  };
}
