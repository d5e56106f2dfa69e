// Measures a server under load: requests arrive at random (Poisson) at each rate, whether earlier ones have ended or not. Prints times to the
// first token, times between tokens and throughput against the request rate, and draws them. The server is one of this process, or any
// with OpenAI's API (--url).
// usage: node bench/load.mjs [--mix conversation|coding|both] [--rates 1,2,4] [--seconds 30] [--scale 1] [--model DIR] [--device cpu]
// [--sequences 16] [--inter-token-ms N] [--url http://127.0.0.1:8080 --name MODEL] [--svg FILE] [--seed 1] [--json]
//
// Lengths are log-normal around the medians of the Azure traces that the Splitwise paper describes, with spreads that give these percentiles
// (tokens at p50, p90, p99), cut off at the context:
//   conversation  prompt 1,020 1,936 3,264   answer 129 465 1,321
//   coding        prompt 1,500 4,181 9,645   answer  13  65   238
// --scale multiplies all lengths, for models and machines that are too small for them.
import { writeFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { modelPath } from '../packages/demo-model/dist/index.js';
import { openDevice } from '../packages/metal-runtime/dist/index.js';
import { mixtureOfExperts } from '../packages/moe/dist/index.js';
import { createServer } from '../packages/server/dist/index.js';
import { loadTextModel } from '../packages/text/dist/index.js';
import { drawPanels } from './lib/draw-panels.mjs';
import { seededRandom } from './lib/seeded-random.mjs';
import { readEvents } from './lib/server-events.mjs';
import { percentiles } from './lib/statistics.mjs';

/** Medians, and spreads of the logarithms. */
const MIXES = {
  conversation: { prompt: { median: 1020, spread: 0.5 }, answer: { median: 129, spread: 1 } },
  coding: { prompt: { median: 1500, spread: 0.8 }, answer: { median: 13, spread: 1.25 } },
};
const SHORTEST_PROMPT = 4;
/** Token ids of prompts: ordinary ones in every vocabulary. */
const IDS = [300, 1000];

const { values: flags } = parseArgs({
  options: {
    mix: { type: 'string', default: 'both' },
    rates: { type: 'string', default: '1,2,4' },
    seconds: { type: 'string', default: '30' },
    scale: { type: 'string', default: '1' },
    model: { type: 'string', default: modelPath },
    device: { type: 'string', default: 'cpu' },
    context: { type: 'string', default: '2048' },
    sequences: { type: 'string', default: '16' },
    'inter-token-ms': { type: 'string' },
    url: { type: 'string' },
    name: { type: 'string', default: 'load' },
    svg: { type: 'string' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});
const random = seededRandom(Number(flags.seed));
const context = Number(flags.context);
const mixes = flags.mix === 'both' ? Object.values(MIXES) : [MIXES[flags.mix]];
const target = flags.url ? { url: flags.url, close: async () => {}, banned: [] } : await serve();

await run(1, Math.min(2, Number(flags.seconds)));
const rows = [];
for (const rate of flags.rates.split(',').map(Number)) {
  const row = await run(rate, Number(flags.seconds));
  rows.push(row);
  if (!flags.json) printRow(row);
}
await target.close();
if (flags.json) console.log(JSON.stringify({ mix: flags.mix, scale: Number(flags.scale), rows }));
if (flags.svg) writeFileSync(flags.svg, picture());
if (rows.some(({ failed, answers }) => failed > 0 || answers === 0)) process.exitCode = 1;

/** A server of this process. */
async function serve() {
  const device = await openDevice({ kind: /** @type {'cpu'} */ (flags.device) });
  const pace = flags['inter-token-ms'];
  const model = await loadTextModel(flags.model, device, {
    maxSequences: Number(flags.sequences),
    contextTokens: context,
    feedForward: mixtureOfExperts,
    ...(pace !== undefined && { interTokenMs: Number(pace) }),
  });
  const server = createServer({ model: { id: flags.name, model }, limits: { queue: 100_000 } });
  const url = await server.listen({ port: 0 });
  const { endOfTurnIds } = await model.language();
  const close = async () => {
    await server.close();
    model.dispose();
    device.dispose();
  };
  return { url, close, banned: [...endOfTurnIds, ...model.checkpoint.generation.stopTokenIds] };
}

/** Normally distributed, with mean 0 and spread 1. */
function normal() {
  return Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
}

function lengthOf({ median, spread }, least, most) {
  const length = Math.round(Number(flags.scale) * median * Math.exp(spread * normal()));
  return Math.min(Math.max(length, least), most);
}

/** All requests that arrive in a time, until the last one has ended. */
async function run(rate, seconds) {
  const numbers = { firstMs: [], betweenMs: [], promptTokens: 0, tokens: 0, answers: 0, failed: 0 };
  const begin = performance.now();
  const running = [];
  for (let at = 0; ; ) {
    at += (-Math.log(1 - random.next()) / rate) * 1000;
    if (at > seconds * 1000 && running.length > 0) break;
    await wait(Math.max(0, begin + at - performance.now()));
    running.push(oneAnswer(numbers));
  }
  await Promise.all(running);
  const took = (performance.now() - begin) / 1000;
  const { firstMs, betweenMs, promptTokens, tokens, ...counts } = numbers;
  return {
    rate,
    ...counts,
    requestsPerSecond: counts.answers / took,
    promptTokensPerSecond: promptTokens / took,
    tokensPerSecond: tokens / took,
    firstMs: percentiles(firstMs),
    betweenMs: percentiles(betweenMs),
  };
}

async function oneAnswer(numbers) {
  const mix = random.pick(mixes);
  const answer = lengthOf(mix.answer, 1, context / 2);
  const count = lengthOf(mix.prompt, SHORTEST_PROMPT, context - answer - 1);
  const body = {
    model: flags.name,
    prompt: Array.from({ length: count }, () => random.integer(IDS[0], IDS[1])),
    max_tokens: answer,
    stream: true,
    stream_options: { include_usage: true },
    temperature: 0,
    logit_bias: Object.fromEntries(target.banned.map((id) => [id, -100])),
  };
  const sent = performance.now();
  let last = null;
  try {
    const response = await fetch(`${target.url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (response.status !== 200) throw new TypeError(`${response.status} ${await response.text()}`);
    for await (const { error, usage, choices = [] } of readEvents(response.body)) {
      if (error) throw new TypeError(JSON.stringify(error));
      numbers.tokens += usage?.completion_tokens ?? 0;
      numbers.promptTokens += usage?.prompt_tokens ?? 0;
      if (!choices[0]?.text) continue;
      const now = performance.now();
      if (last === null) numbers.firstMs.push(now - sent);
      else numbers.betweenMs.push(now - last);
      last = now;
    }
    numbers.answers += 1;
  } catch (error) {
    numbers.failed += 1;
    if (numbers.failed === 1) console.error(error);
  }
}

function printRow(row) {
  if (rows.length === 1) {
    console.log(
      '| requests/s | answered/s | first token, ms: p50 | p99 | between tokens, ms: p50 | p99 | prompt tokens/s | tokens/s | failed |',
    );
    console.log(`|${'---|'.repeat(9)}`);
  }
  const figures = [
    row.requestsPerSecond,
    row.firstMs?.p50,
    row.firstMs?.p99,
    row.betweenMs?.p50,
    row.betweenMs?.p99,
  ];
  const shown = figures.map((value) => value?.toFixed(value < 10 ? 2 : 0) ?? '–');
  const rates = [row.promptTokensPerSecond, row.tokensPerSecond].map((value) => value.toFixed(0));
  console.log(`| ${[row.rate, ...shown, ...rates, row.failed].join(' | ')} |`);
}

/** First-token and inter-token times, and throughput, against the request rate. */
function picture() {
  const line = (label, pick) => ({
    label,
    points: rows.flatMap((row) => {
      const value = pick(row);
      return value === undefined ? [] : [[row.rate, value]];
    }),
  });
  return drawPanels('requests per second', [
    {
      title: 'first token, ms',
      isLogarithmic: true,
      lines: [line('p50', (row) => row.firstMs?.p50), line('p99', (row) => row.firstMs?.p99)],
    },
    {
      title: 'between tokens, ms',
      isLogarithmic: true,
      lines: [line('p50', (row) => row.betweenMs?.p50), line('p99', (row) => row.betweenMs?.p99)],
    },
    {
      title: 'tokens per second',
      lines: [
        line('prompts', (row) => row.promptTokensPerSecond),
        line('answers', (row) => row.tokensPerSecond),
      ],
    },
  ]);
}
