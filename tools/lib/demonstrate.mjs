// Demonstrates how a program uses the packages. Import it only after the build, because it needs their dist/.
import path from 'node:path';
import { openDevice } from '../../packages/metal-runtime/dist/index.js';
import { mixtureOfExperts } from '../../packages/moe/dist/index.js';
import { loadTextModel, stream } from '../../packages/text/dist/index.js';
import { repositoryRoot } from './process.mjs';

const MODELS = { dense: 'packages/demo-model/model', moe: 'packages/demo-model/model-moe' };
/** The model was trained on short texts. */
const MAX_TOKENS = 256;

const NEXT = `Next:
  pnpm playground            a page to chat with text, pictures and sound; also serves the OpenAI and Anthropic APIs
  pnpm markbase chat         the same in this terminal
  pnpm markbase serve        only the APIs: pnpm markbase serve --help
  pnpm markbase completion   a completion script for your shell`;

/**
 * Answers a prompt with the packaged demo model, and shows device, load time, the answer as it is generated, and speed.
 *
 * @param {string} prompt
 * @param {'dense' | 'moe'} variant
 */
export async function demonstrate(prompt, variant) {
  const directory = MODELS[variant];
  const device = await openDevice();
  const { kind, name, isa, threads } = device.info;
  console.log(`device   ${kind}: ${name}, ${isa}, ${threads} threads`);

  const started = performance.now();
  const model = await loadTextModel(path.join(repositoryRoot, directory), device, {
    feedForward: mixtureOfExperts,
  });
  console.log(`model    ${directory}, loaded in ${(performance.now() - started).toFixed(0)} ms`);
  console.log(`prompt   ${prompt}\n`);
  try {
    const messages = [{ role: /** @type {const} */ ('user'), content: prompt }];
    for await (const event of stream(model, { messages, maxTokens: MAX_TOKENS })) {
      if (event.type === 'text') process.stdout.write(event.text);
      if (event.type === 'finish') console.log(`\n\nspeed    ${speed(event)}`);
    }
    console.log(`\n${NEXT}`);
  } finally {
    model.dispose();
    device.dispose();
  }
}

/** @param {import('../../packages/text/dist/index.js').Finish} finish */
function speed({ usage, timings }) {
  const decodeMs = timings.totalMs - timings.firstTokenMs;
  const rate = usage.completionTokens > 1 ? ((usage.completionTokens - 1) * 1000) / decodeMs : 0;
  return (
    `first token after ${timings.firstTokenMs.toFixed(0)} ms (${usage.promptTokens} prompt tokens), ` +
    `then ${usage.completionTokens} tokens at ${rate.toFixed(1)} tokens/s`
  );
}
