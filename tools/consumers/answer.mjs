// What a program does with the packages, for `tools/rehearse.mjs`: answers a prompt, in this thread and over HTTP, and prints the result.
// It is bundled too, into ES modules and CommonJS, so it awaits nothing at its top level.
import { createMarkbase } from '@markbase/ai-provider';
import { AudioModel } from '@markbase/audio';
import { modelPath } from '@markbase/demo-model';
import { load } from '@markbase/gemma';
import { openCheckpoint } from '@markbase/loader';
import { openDevice } from '@markbase/metal-runtime';
import { mixtureOfExperts } from '@markbase/moe';
import { createServer } from '@markbase/server';
import { generate, loadTextModel } from '@markbase/text';
import { VisionModel } from '@markbase/vision';

const messages = [{ role: 'user', content: 'Tell me a story about a fox.' }];
const limits = { maxTokens: 24, temperature: 0 };

async function main() {
  const checkpoint = await openCheckpoint(modelPath);
  const device = await openDevice({ kind: 'cpu' });
  const model = await loadTextModel(modelPath, device, { precision: 'high', feedForward: mixtureOfExperts });
  const { text } = await generate(model, { messages, ...limits });
  const short = await load(modelPath, { device, precision: 'high' });
  const isShortAlike = (await short.generate(messages, limits)).text === text;
  short.dispose();
  const server = createServer({ models: [{ id: 'demo', model }] });
  const address = await server.listen({ port: 0 });
  const request = { model: 'demo', messages, max_tokens: limits.maxTokens, temperature: 0 };
  const response = await fetch(`${address}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request),
  });
  const served = (await response.json()).choices[0].message.content;
  const provider = createMarkbase({ models: { demo: model } });
  const names = [AudioModel.name, VisionModel.name, provider.languageModel('demo').modelId];
  await server.close();
  model.dispose();
  device.dispose();
  console.log(
    JSON.stringify({
      family: checkpoint.config.family,
      text,
      isServedAlike: served === text,
      isShortAlike,
      names,
    }),
  );
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
