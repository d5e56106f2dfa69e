// Claim: when clients leave streams at any time, every block of the caches is returned, although the caches are too small for all of them.
// Ends with status 1 if a block is still held, if a stream fails for another reason than its client, or if a last answer differs from
// that of a model with room for all.
// usage: node bench/cancelled-streams.mjs [--minutes 10] [--streams 64] [--device cpu] [--model DIR] [--seed 1] [--json]
import { parseArgs } from 'node:util';
import { modelPath } from '../packages/demo-model/dist/index.js';
import { openDevice } from '../packages/metal-runtime/dist/index.js';
import { generate, loadTextModel, stream } from '../packages/text/dist/index.js';
import { seededRandom } from './lib/seeded-random.mjs';

const { values: flags } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    streams: { type: 'string', default: '64' },
    device: { type: 'string', default: 'cpu' },
    model: { type: 'string', default: modelPath },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});
const { next: random } = seededRandom(Number(flags.seed));
const below = (limit) => Math.floor(random() * limit);
const device = await openDevice({ kind: /** @type {'cpu'} */ (flags.device) });
const options = { precision: /** @type {const} */ ('high'), contextTokens: 512, prefillChunk: 64 };
const load = (more) => loadTextModel(flags.model, device, { ...options, ...more });
const one = await load({});
const model = await load({ maxSequences: 16, cacheBytes: 3 * one.cacheBytes });

const counts = { finished: 0, left: 0, tokens: 0, failed: 0 };
const deadline = performance.now() + 60_000 * Number(flags.minutes);
const prompts = Array.from({ length: 8 }, () =>
  Array.from({ length: 40 + below(240) }, () => 300 + below(900)),
);

/** One answer, which the client leaves after some tokens, at once, or not at all. */
async function answer() {
  const controller = new AbortController();
  const leaveAfter = random() < 0.2 ? Number.POSITIVE_INFINITY : below(60);
  const prompt = [...prompts[below(prompts.length)].slice(0, 20 + below(200)), 300 + below(900)];
  const settings = {
    prompt,
    maxTokens: 60,
    logprobs: true,
    reusePrefix: random() < 0.7,
    signal: controller.signal,
  };
  let tokens = 0;
  try {
    if (leaveAfter === 0) setTimeout(() => controller.abort(), below(5));
    for await (const event of stream(model, settings)) {
      if (event.type !== 'token') continue;
      tokens += 1;
      counts.tokens += 1;
      if (tokens < leaveAfter) continue;
      if (random() < 0.5) break;
      controller.abort();
    }
    counts[tokens < leaveAfter ? 'finished' : 'left'] += 1;
  } catch (error) {
    if (controller.signal.aborted) {
      counts.left += 1;
      return;
    }
    counts.failed += 1;
    console.error(error);
  }
}

async function client() {
  while (performance.now() < deadline) await answer();
}

await Promise.all(Array.from({ length: Number(flags.streams) }, client));
const last = { prompt: prompts[0].slice(0, 40), maxTokens: 30, temperature: 0, logprobs: true };
const [tight, roomy] = [await generate(model, last), await generate(one, last)];
const isEqual = JSON.stringify(tight.logprobs) === JSON.stringify(roomy.logprobs);
const { heldCacheBytes, busySequences, prefillTokens } = model.activity;
const result = { ...counts, prefillTokens, heldCacheBytes, busySequences, isEqual };
console.log(flags.json ? JSON.stringify(result) : result);
if (heldCacheBytes > 0 || busySequences > 0 || counts.failed > 0 || !isEqual) process.exitCode = 1;
