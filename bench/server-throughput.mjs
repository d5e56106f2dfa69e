// Claims: eight concurrent clients get at least four times the tokens of one, or the roofline of the same run shows what
// limits them: a step reads the weights once for all of its rows, so that one stream is limited by memory bandwidth, and eight may be
// limited by arithmetic. usage: node bench/server-throughput.mjs --model DIR [--streams 1,8] [--tokens 64] [--prompt 16] [--rounds 3]
// [--threads N] [--json] A checkpoint: node apps/playground/dist/cli.js synth --variant e2b --layers 8 --out DIR
import { parseArgs } from 'node:util';
import { openCheckpoint } from '../packages/loader/dist/index.js';
import { measureReadBandwidth, openDevice } from '../packages/metal-runtime/dist/index.js';
import { createServer } from '../packages/server/dist/index.js';
import { TextModel } from '../packages/text/dist/index.js';
import { requireOptions } from './lib/required-options.mjs';
import { seededRandom } from './lib/seeded-random.mjs';
import { readEvents } from './lib/server-events.mjs';
import { shown, spread } from './lib/statistics.mjs';

const { values: flags } = parseArgs({
  options: {
    model: { type: 'string' },
    streams: { type: 'string', default: '1,8' },
    tokens: { type: 'string', default: '64' },
    prompt: { type: 'string', default: '16' },
    rounds: { type: 'string', default: '3' },
    threads: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
requireOptions(flags, ['model']);
const counts = flags.streams.split(',').map(Number);
const tokens = Number(flags.tokens);
const random = seededRandom(1);
const device = await openDevice({ kind: 'cpu', ...(flags.threads && { threads: Number(flags.threads) }) });
const model = await TextModel.load(await openCheckpoint(flags.model), device, {
  maxSequences: Math.max(...counts),
  contextTokens: Number(flags.prompt) + tokens + 8,
});
const server = createServer({ model: { id: 'throughput', model } });
const url = await server.listen({ port: 0 });

await run(counts.at(-1));
const rates = new Map(counts.map((count) => [count, []]));
for (let round = 0; round < Number(flags.rounds); round += 1) {
  for (const count of counts) rates.get(count).push(await run(count));
}
const { bytesPerSecond } = await measureReadBandwidth(device.info.threads);
const rows = counts.map((count) => {
  const rate = spread(rates.get(count));
  const { weightBytes } = model.plan(count);
  const stepsPerSecond = rate.median / count;
  return {
    streams: count,
    tokensPerSecond: rate,
    weightBytes,
    bandwidthShare: (weightBytes * stepsPerSecond) / bytesPerSecond,
  };
});
await server.close();
model.dispose();
device.dispose();

const result = {
  rows,
  bytesPerSecond,
  gain: rows.at(-1).tokensPerSecond.median / rows[0].tokensPerSecond.median,
};
if (flags.json) console.log(JSON.stringify(result));
else {
  console.log(`read bandwidth ${(bytesPerSecond / 1e9).toFixed(1)} GB/s`);
  for (const { streams, tokensPerSecond, weightBytes, bandwidthShare } of rows) {
    const limit = (streams * bytesPerSecond) / weightBytes;
    console.log(
      `${streams} streams: ${shown(tokensPerSecond)} tokens/s; the bandwidth allows ${limit.toFixed(1)} ` +
        `(${(weightBytes / 1e6).toFixed(0)} MB per step), ${(100 * bandwidthShare).toFixed(0)} % of it used`,
    );
  }
  console.log(`gain of ${counts.at(-1)} streams over ${counts[0]}: ${result.gain.toFixed(2)}`);
}

/** Tokens per second of a number of concurrent clients, prompts included. */
async function run(count) {
  const spans = await Promise.all(Array.from({ length: count }, () => oneStream()));
  const begin = Math.min(...spans.map((span) => span.begin));
  const end = Math.max(...spans.map((span) => span.end));
  return spans.reduce((sum, span) => sum + span.tokens, 0) / ((end - begin) / 1000);
}

async function oneStream() {
  const prompt = Array.from({ length: Number(flags.prompt) }, () => random.integer(10, 1000));
  const body = {
    model: 'throughput',
    prompt,
    max_tokens: tokens,
    stream: true,
    stream_options: { include_usage: true },
  };
  const begin = performance.now();
  const response = await fetch(`${url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, temperature: 0 }),
  });
  let generated = 0;
  for await (const { usage } of readEvents(response.body)) generated += usage?.completion_tokens ?? 0;
  return { begin, end: performance.now(), tokens: generated };
}
