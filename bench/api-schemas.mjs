// Validates the server's answers: node bench/api-schemas.mjs openapi.json
// OpenAI's answers against its published OpenAPI description (openai/openai-openapi, kept outside the repository), Anthropic's against
// the types of its SDK, with the TypeScript compiler.
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { modelPath } from '../packages/demo-model/dist/index.js';
import { openDevice } from '../packages/metal-runtime/dist/index.js';
import { createServer } from '../packages/server/dist/index.js';
import { loadTextModel } from '../packages/text/dist/index.js';

const modules = fileURLToPath(new URL('../packages/server/node_modules', import.meta.url));
const Ajv = createRequire(`${modules}/x.js`)('ajv/dist/2020.js').default;
// OpenAPI 3.0 has `nullable`; JSON Schema has a type instead.
if (!process.argv[2]) {
  process.stderr.write('usage: node bench/api-schemas.mjs openapi.json\n');
  process.exit(1);
}
const description = JSON.parse(await readFile(process.argv[2], 'utf8'), (_, value) => {
  if (value?.nullable !== true) return value;
  const { nullable, ...schema } = value;
  return { anyOf: [schema, { type: 'null' }] };
});
const ajv = new Ajv({ strict: false, allErrors: false, validateFormats: false, discriminator: false });
ajv.addSchema({ $id: 'openai', components: description.components });

const device = await openDevice({ kind: 'cpu', threads: 2 });
const model = await loadTextModel(modelPath, device, { contextTokens: 512 });
const server = createServer({ model: { id: 'demo', model } });

const messages = [{ role: 'user', content: 'What is 31 + 90?' }];
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const tool = { name: 'get_weather', description: 'Gets the weather in a city.' };
const chatTools = {
  tools: [{ type: 'function', function: { ...tool, parameters } }],
  tool_choice: 'required',
};
const responseTools = {
  tools: [{ type: 'function', ...tool, parameters, strict: true }],
  tool_choice: 'required',
};
const messageTools = { tools: [{ ...tool, input_schema: parameters }], tool_choice: { type: 'any' } };
const logprobs = { logprobs: true, top_logprobs: 2 };
const thinking = { thinking: { type: 'enabled', budget_tokens: 16 } };
const CASES = [
  [
    'POST',
    '/v1/chat/completions',
    { messages, ...logprobs },
    'CreateChatCompletionResponse',
    'CreateChatCompletionStreamResponse',
  ],
  [
    'POST',
    '/v1/chat/completions',
    { messages, ...chatTools, max_tokens: 60 },
    'CreateChatCompletionResponse',
    'CreateChatCompletionStreamResponse',
  ],
  [
    'POST',
    '/v1/completions',
    { prompt: 'Once', logprobs: 2 },
    'CreateCompletionResponse',
    'CreateCompletionResponse',
  ],
  [
    'POST',
    '/v1/responses',
    { input: 'Hi', include: ['message.output_text.logprobs'], top_logprobs: 1 },
    'Response',
    'ResponseStreamEvent',
  ],
  ['POST', '/v1/responses', { input: 'Hi', reasoning: { effort: 'low' } }, 'Response', 'ResponseStreamEvent'],
  [
    'POST',
    '/v1/responses',
    { input: 'Hi', ...responseTools, max_output_tokens: 60 },
    'Response',
    'ResponseStreamEvent',
  ],
  [
    'POST',
    '/v1/responses',
    { input: 'Tell me a story.', max_output_tokens: 2 },
    'Response',
    'ResponseStreamEvent',
  ],
  ['GET', '/v1/models', null, 'ListModelsResponse'],
  ['GET', '/v1/models/demo', null, 'Model'],
  ['POST', '/v1/chat/completions', { messages: [] }, 'ErrorResponse'],
  ['POST', '/v1/messages', { messages, max_tokens: 30 }, 'Message', 'RawMessageStreamEvent'],
  ['POST', '/v1/messages', { messages, max_tokens: 60, ...messageTools }, 'Message', 'RawMessageStreamEvent'],
  ['POST', '/v1/messages', { messages, max_tokens: 30, ...thinking }, 'Message', 'RawMessageStreamEvent'],
  ['POST', '/v1/messages/count_tokens', { messages }, 'MessageTokensCount'],
];

async function ask(method, path, body) {
  const init = body && {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo', temperature: 0, ...body }),
  };
  const text = await (await server.fetch(new Request(`http://localhost${path}`, { method, ...init }))).text();
  const lines = text.split('\n').filter((line) => line.startsWith('data: {'));
  return lines.length > 0 ? lines.map((line) => JSON.parse(line.slice(6))) : [JSON.parse(text)];
}

const typed = [];
let valid = 0;
const invalid = [];
for (const [method, path, body, whole, part] of CASES) {
  for (const [schema, stream] of [[whole, false], ...(part ? [[part, true]] : [])]) {
    const counts = path === '/v1/messages/count_tokens' ? { temperature: undefined } : {};
    const answers = await ask(method, path, body && { ...body, ...counts, ...(stream && { stream }) });
    if (path.startsWith('/v1/messages')) {
      for (const answer of answers) if (answer.type !== 'ping') typed.push({ schema, answer });
      continue;
    }
    const validate = ajv.getSchema(`openai#/components/schemas/${schema}`);
    for (const answer of answers) {
      // The description lacks chunks of plain completions; before the last one, OpenAI's own chunks also have null here.
      if (schema === 'CreateCompletionResponse' && stream) answer.choices[0].finish_reason ??= 'stop';
      if (validate(answer)) valid++;
      else
        invalid.push(
          `${path} ${schema} ${answer.type ?? ''}: ${validate.errors[0].instancePath} ${validate.errors[0].message}`,
        );
    }
  }
}
await server.close();
model.dispose();
device.dispose();

const folder = await mkdtemp(join(tmpdir(), 'markbase-types-'));
await symlink(modules, join(folder, 'node_modules'));
const lines = typed.map(
  ({ schema, answer }, index) => `const a${index}: Anthropic.${schema} = ${JSON.stringify(answer)};`,
);
await writeFile(
  join(folder, 'answers.ts'),
  `import type Anthropic from '@anthropic-ai/sdk';\n${lines.join('\n')}\n`,
);
const tsc = fileURLToPath(new URL('../node_modules/typescript/bin/tsc', import.meta.url));
let types = '';
try {
  execFileSync('node', [
    tsc,
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    '--module',
    'nodenext',
    '--target',
    'es2022',
    join(folder, 'answers.ts'),
  ]);
} catch (error) {
  types = String(error.stdout);
}
await rm(folder, { recursive: true });
console.log(`OpenAI: ${valid} objects valid, ${invalid.length} not`);
for (const line of new Set(invalid)) console.log(`  ${line}`);
console.log(
  `Anthropic: ${typed.length} objects, ${types === '' ? "all of the SDK's types" : `not all:\n${types}`}`,
);
process.exit(invalid.length === 0 && types === '' ? 0 : 1);
