import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, it } from 'vitest';
import { randomSchema } from '../../../fixtures/random-schema.js';
import { serveDemo } from './serve-demo.js';

/** 40 in ordinary runs; `pnpm schemas` sends 200. */
const COUNT = Number(process.env.MARKBASE_SCHEMAS ?? 40);
const FIRST_SEED = 1000;
const AT_ONCE = 8;

const demo = serveDemo();

it(
  `gives valid JSON for ${COUNT} random schemas, with and without thinking, streamed and whole`,
  async () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    let next = 0;
    const invalid: string[] = [];
    const worker = async () => {
      while (next < COUNT) {
        const seed = FIRST_SEED + next++;
        const schema = randomSchema(seed) as Record<string, unknown>;
        const text = await answer(seed, schema);
        const validate = ajv.compile(schema);
        if (!validate(JSON.parse(text))) invalid.push(`${seed}: ${text} ${JSON.stringify(validate.errors)}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    expect(invalid).toEqual([]);
  },
  COUNT * 10_000,
);

async function answer(seed: number, schema: Record<string, unknown>): Promise<string> {
  const request = {
    model: 'demo',
    messages: [{ role: 'user' as const, content: `Make up number ${seed} as JSON.` }],
    response_format: { type: 'json_schema' as const, json_schema: { name: 'made_up', schema, strict: true } },
    temperature: (seed % 3) / 2,
    seed,
    max_completion_tokens: 300,
    reasoning_effort: seed % 4 === 0 ? ('low' as const) : ('none' as const),
  };
  if (seed % 2 === 0) {
    const { choices } = await demo.client.chat.completions.create(request);
    return choices[0]!.message.content!;
  }
  let text = '';
  for await (const { choices } of await demo.client.chat.completions.create({ ...request, stream: true })) {
    text += choices[0]?.delta.content ?? '';
  }
  return text;
}
