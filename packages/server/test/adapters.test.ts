import { join } from 'node:path';
import { modelPath } from '@markbase/demo-model';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { writeAdapter } from '../../../fixtures/write-adapter.js';
import { serveDemo } from './serve-demo.js';

const root = temporaryFolder();
const adapters = {
  nothing: await writeAdapter(modelPath, join(root, 'nothing'), 0),
  noise: await writeAdapter(modelPath, join(root, 'noise'), 1000),
};
const demo = serveDemo({}, { adapters });

async function answer(model: string): Promise<string | null> {
  const messages = [{ role: 'user' as const, content: 'What is 31 + 90?' }];
  const completion = await demo.client.chat.completions.create({
    model,
    messages,
    temperature: 0,
    max_tokens: 16,
  });
  expect(completion.model).toBe(model);
  return completion.choices[0]!.message.content;
}

it('lists adapters as models, and chooses them per request, also at the same time', async () => {
  const ids = (await demo.client.models.list()).data.map(({ id }) => id);
  expect(ids).toEqual(['demo', 'demo:nothing', 'demo:noise']);
  const [plain, nothing, noise] = await Promise.all(ids.map(answer));
  expect([plain, nothing]).toEqual(['31 + 90 = 121', '31 + 90 = 121']);
  expect(noise).not.toBe(plain);
});

it('refuses the name of an unknown adapter', async () => {
  await expect(answer('demo:other')).rejects.toMatchObject({ status: 404, code: 'model_not_found' });
});
