// Claims: 64 clients stream from the server concurrently, with prompts of random lengths, aborts and pictures. Only the intended requests
// fail, every greedy answer equals that of the same prompt alone, nothing is NaN, and memory does not grow. Reports times to the first
// token and between tokens. usage: node --expose-gc bench/server-load.mjs [--minutes 10] [--streams 64] [--model DIR] [--precision fast]
// [--images] [--json]
import { parseArgs } from 'node:util';
import { modelPath } from '../packages/demo-model/dist/index.js';
import { openDevice } from '../packages/metal-runtime/dist/index.js';
import { createServer } from '../packages/server/dist/index.js';
import { generate, loadTextModel } from '../packages/text/dist/index.js';
import { randomPicture } from './lib/random-picture.mjs';
import { seededRandom } from './lib/seeded-random.mjs';
import { readEvents } from './lib/server-events.mjs';
import { percentiles, slopePerMinute } from './lib/statistics.mjs';

const { values: flags } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    streams: { type: 'string', default: '64' },
    sequences: { type: 'string', default: '16' },
    prompts: { type: 'string', default: '120' },
    model: { type: 'string', default: modelPath },
    precision: { type: 'string', default: 'fast' },
    threads: { type: 'string' },
    images: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});
const durationMs = Number(flags.minutes) * 60_000;
/** Part of the run in which caches, pools and the heap reach their final sizes. */
const WARM_UP = 0.3;
const ABORTED = 0.15;
const SUBJECTS = ['fox', 'seal', 'crow', 'lantern', 'boat', 'garden', 'storm', 'whistle', 'bear', 'river'];

const random = seededRandom(Number(flags.seed));
const device = await openDevice({ kind: 'cpu', ...(flags.threads && { threads: Number(flags.threads) }) });
const model = await loadTextModel(flags.model, device, {
  maxSequences: Number(flags.sequences),
  rememberedSequences: 8,
  contextTokens: 1024,
  precision: flags.precision,
  checkFinite: false,
});
const media = flags.images ? await loadVision() : null;
const server = createServer({
  model: { id: 'load', model, ...(media && { media: media.encoder }) },
  limits: { queue: 4 * Number(flags.streams) },
});
const url = await server.listen({ port: 0 });

const requests = await prepareRequests(Number(flags.prompts));
const result = await runLoad();
await server.close();
media?.vision.dispose();
model.dispose();
device.dispose();
report(result);

async function loadVision() {
  const { VisionModel } = await import('../packages/vision/dist/index.js');
  const vision = await VisionModel.load(model.checkpoint, device, { precision: flags.precision });
  return { vision, encoder: { encodeImage: (bytes, options) => vision.encode(bytes, options) } };
}

/** Prompts of random lengths, some with a common prefix and some with a picture, and the answer to each when run alone. */
async function prepareRequests(count) {
  const prepared = [];
  for (let index = 0; index < count; index += 1) {
    const subject = random.pick(SUBJECTS);
    const filler = Array.from({ length: random.integer(0, 120) }, () => random.pick(SUBJECTS)).join(' ');
    const system =
      random.next() < 0.5 ? 'Words that you may use: boat, river, garden, storm, bear, fox, seal.' : filler;
    const question = `${random.pick(['Tell me a story about a', 'What do you know about a'])} ${subject}. ${index}`;
    const picture = media && random.next() < 0.25 ? await randomPicture(random) : null;
    const maxTokens = random.integer(1, 96);
    prepared.push({
      body: bodyOf(system, question, picture, maxTokens),
      text: await alone(system, question, picture, maxTokens),
    });
  }
  return prepared;
}

function bodyOf(system, question, picture, maxTokens) {
  const text = { type: 'text', text: question };
  const image = picture && {
    type: 'image_url',
    image_url: { url: `data:image/png;base64,${picture.toString('base64')}` },
  };
  return {
    model: 'load',
    stream: true,
    stream_options: { include_usage: true },
    temperature: 0,
    max_tokens: maxTokens,
    messages: [
      { role: 'system', content: system },
      { role: 'user', content: image ? [image, text] : [text] },
    ],
  };
}

async function alone(system, question, picture, maxTokens) {
  const text = { type: 'text', text: question };
  const image = picture && { type: 'image', softTokens: await media.vision.encode(picture) };
  const messages = [
    { role: 'system', content: system },
    { role: 'user', content: image ? [image, text] : [text] },
  ];
  return (await generate(model, { messages, temperature: 0, maxTokens })).text;
}

async function runLoad() {
  const begin = performance.now();
  const numbers = {
    answers: 0,
    aborted: 0,
    tokens: 0,
    wrong: [],
    failed: [],
    firstMs: [],
    betweenMs: [],
    memory: [],
  };
  const sample = () => {
    // Garbage that has not been collected yet is not growth: --expose-gc excludes it.
    globalThis.gc?.();
    if (performance.now() - begin > WARM_UP * durationMs) {
      numbers.memory.push({
        minutes: (performance.now() - begin) / 60_000,
        megabytes: process.memoryUsage.rss() / 1e6,
      });
    }
  };
  const timer = setInterval(sample, Math.min(5000, durationMs / 30));
  await Promise.all(
    Array.from({ length: Number(flags.streams) }, async () => {
      while (performance.now() - begin < durationMs) await oneAnswer(numbers);
    }),
  );
  clearInterval(timer);
  const seconds = (performance.now() - begin) / 1000;
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return { ...numbers, seconds, idleSequences: model.idleSequences, isFinite: !/ nan\b/i.test(metrics) };
}

async function oneAnswer(numbers) {
  const request = random.pick(requests);
  const controller = new AbortController();
  const leaveAfter = random.next() < ABORTED ? random.integer(0, 20) : Number.POSITIVE_INFINITY;
  const sentMs = performance.now();
  let last = sentMs;
  let text = '';
  let pieces = 0;
  try {
    if (leaveAfter === 0) setTimeout(() => controller.abort(), random.integer(0, 50));
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request.body),
      signal: controller.signal,
    });
    if (response.status !== 200) {
      numbers.failed.push(`${response.status} ${await response.text()}`);
      return;
    }
    for await (const { error, choices = [], usage } of readEvents(response.body)) {
      if (error) numbers.failed.push(JSON.stringify(error));
      if (usage) numbers.tokens += usage.completion_tokens;
      const piece = choices[0]?.delta.content ?? '';
      if (piece === '') continue;
      const now = performance.now();
      if (pieces === 0) numbers.firstMs.push(now - sentMs);
      else numbers.betweenMs.push(now - last);
      last = now;
      text += piece;
      pieces += 1;
      if (pieces >= leaveAfter) controller.abort();
    }
    numbers.answers += 1;
    if (text !== request.text) numbers.wrong.push({ expected: request.text, received: text });
  } catch (error) {
    if (controller.signal.aborted) numbers.aborted += 1;
    else numbers.failed.push(`${error} ${error.cause ?? ''}`);
  }
}

function report({ firstMs, betweenMs, memory, wrong, failed, ...rest }) {
  const shown = {
    ...rest,
    wrong: wrong.length,
    failed: failed.length,
    firstTokenMs: percentiles(firstMs),
    betweenTokensMs: percentiles(betweenMs),
    tokensPerSecond: rest.tokens / rest.seconds,
    memoryMb: memory.at(-1)?.megabytes,
    memorySlopeMbPerMinute: slopePerMinute(memory),
  };
  console.log(flags.json ? JSON.stringify(shown) : shown);
  for (const failure of failed.slice(0, 3)) console.error(failure);
  for (const { expected, received } of wrong.slice(0, 3))
    console.error(`expected ${expected}\nreceived ${received}`);
  const isRight = wrong.length === 0 && failed.length === 0 && rest.isFinite && rest.idleSequences > 0;
  process.exitCode = isRight ? 0 : 1;
}
