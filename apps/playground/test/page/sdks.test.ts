import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { build, type Rollup } from 'vite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { browserEnvironment } from '../../../../fixtures/browser-environment.js';
import { DEMO_MODEL, environment, hasDemoModel } from '../run-markbase.js';
import { CHROMIUM, hasBrowser } from './open-page.js';

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const SDKS = fileURLToPath(new URL('../../../../packages/server/node_modules', import.meta.url));

/** What the page runs: a streamed answer and a call of a tool by each SDK. */
const PAGE = `
import OpenAI from 'openai';
import Anthropic from '@anthropic-ai/sdk';

const content = 'What is 31 + 90?';
const messages = [{ role: 'user', content }];
const weather = { name: 'get_weather', description: 'Gets the weather in a city.' };
const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const common = { apiKey: 'none', dangerouslyAllowBrowser: true, maxRetries: 0 };

globalThis.ask = async (url) => {
  const openai = new OpenAI({ ...common, baseURL: url + '/v1' });
  const anthropic = new Anthropic({ ...common, baseURL: url });
  const chat = openai.chat.completions.stream({ model: 'demo', messages, temperature: 0 });
  const called = await openai.responses.create({
    model: 'demo',
    input: 'Is it cold in Valencia?',
    tools: [{ type: 'function', ...weather, parameters: schema, strict: true }],
    tool_choice: 'required',
    max_output_tokens: 60,
  });
  const message = anthropic.messages.stream({ model: 'demo', messages, max_tokens: 30 });
  const use = await anthropic.messages.create({
    model: 'demo',
    messages: [{ role: 'user', content: 'Is it cold in Valencia?' }],
    tools: [{ ...weather, input_schema: schema, strict: true }],
    tool_choice: { type: 'tool', name: 'get_weather' },
    max_tokens: 60,
  });
  const refused = await openai.chat.completions.create({ model: 'none', messages }).catch((error) => error.status);
  return {
    chat: await chat.finalContent(),
    called: called.output.map(({ name }) => name),
    message: (await message.finalMessage()).content.map(({ type }) => type),
    use: use.content.map(({ name, input }) => [name, typeof input.city]),
    refused,
  };
};
`;

/** The SDKs and the page's code as one script. */
async function bundle(): Promise<string> {
  const built = (await build({
    configFile: false,
    logLevel: 'silent',
    resolve: { alias: { openai: `${SDKS}/openai`, '@anthropic-ai/sdk': `${SDKS}/@anthropic-ai/sdk` } },
    plugins: [
      {
        name: 'page',
        resolveId: (id) => (id === 'page' ? '\0page.js' : null),
        load: (id) => (id === '\0page.js' ? PAGE : null),
      },
    ],
    build: { write: false, minify: false, rollupOptions: { input: 'page', preserveEntrySignatures: false } },
  })) as Rollup.RollupOutput;
  return built.output[0].code;
}

/** A web server for one page, whose origin is not that of the engine. */
async function servePage(script: string): Promise<string> {
  const server = createServer((request, response) => {
    const isScript = request.url === '/page.js';
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.end(isScript ? script : '<!doctype html><script type="module" src="/page.js"></script>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** `markbase serve` for pages of an origin. */
async function serve(origin: string): Promise<string> {
  const args = ['serve', '--model', DEMO_MODEL, '--name', 'demo', '--port', '0', '--threads', '2'];
  const child = spawn(process.execPath, [CLI, ...args, '--allow-origin', origin], { env: environment() });
  onTestFinished(() => void child.kill('SIGKILL'));
  return new Promise((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const address = /at (http:\S+)\/v1/.exec(text)?.[1];
      if (address) resolve(address);
    });
    child.on('close', (status) => reject(new TypeError(`serve ended with ${status}`)));
  });
}

describe.skipIf(!hasBrowser || !hasDemoModel)('the official SDKs in a browser', () => {
  it('stream and call tools from a page of an allowed origin, and of no other', async () => {
    const script = await bundle();
    const [origin, other] = [await servePage(script), await servePage(script)];
    const url = await serve(origin);
    const browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: ['--no-sandbox', '--headless'],
      env: browserEnvironment(),
    });
    onTestFinished(() => browser.close());
    const ask = async (address: string) => {
      const page = await browser.newPage();
      await page.goto(address);
      await page.waitForFunction(() => 'ask' in globalThis);
      return page.evaluate(
        (at) => (globalThis as never as { ask(url: string): Promise<object> }).ask(at),
        url,
      );
    };
    expect(await ask(origin)).toEqual({
      chat: '31 + 90 = 121',
      called: ['get_weather'],
      message: ['text'],
      use: [['get_weather', 'string']],
      refused: 404,
    });
    await expect(ask(other)).rejects.toThrow(/Connection error/);
  });
});
