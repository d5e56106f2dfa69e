import { cp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { rewriteCheckpoint } from '../../../fixtures/rewritten-checkpoint.js';
import { silentWav } from '../../../fixtures/silent-wav.js';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { DEMO_MODEL, hasDemoModel, markbase, markbaseJson } from './run-markbase.js';
import { serve } from './start-server.js';

const HELD_OUT = join(DEMO_MODEL, '..', 'held-out');

/** Token that ends an answer of the demo model. */
const END_TOKENS = [1, 9, 16];

/** A PNG with one pixel. */
const RED_DOT =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

function chat(url: string, content: string, extra: object = {}): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer secret' },
    body: JSON.stringify({ model: 'demo', messages: [{ role: 'user', content }], temperature: 0, ...extra }),
  });
}

async function answerOf(response: Response): Promise<string | undefined> {
  const body = (await response.json()) as { choices?: { message: { content: string } }[] };
  return body.choices?.[0]?.message.content;
}

describe.skipIf(!hasDemoModel)('markbase serve', () => {
  it('answers, requires the key, and lets a running answer finish on SIGTERM', async () => {
    const { url, child, ended } = await serve(['--model', DEMO_MODEL, '--name', 'demo', '--log'], {
      MARKBASE_API_KEY: 'secret',
    });
    expect((await fetch(`${url}/v1/models`)).status).toBe(401);
    expect(await answerOf(await chat(url, 'What is 31 + 90?'))).toBe('31 + 90 = 121');
    const running = await chat(url, 'Tell me a story about a seal.', { stream: true });
    child.kill('SIGTERM');
    const text = await running.text();
    expect(text).toContain('"finish_reason":"stop"');
    expect(text.trimEnd()).toMatch(/data: \[DONE\]$/);
    const { status, stderr } = await ended;
    expect(status).toBe(0);
    expect(stderr).toContain('"route":"/v1/chat/completions"');
    expect(stderr).not.toContain('seal');
  });

  it('does not read a prompt again after it was killed', async () => {
    const folder = join(temporaryFolder(), 'prompts');
    const args = ['--model', DEMO_MODEL, '--name', 'demo', '--cache-dir', folder, '--cache-bytes', '20MB'];
    const question = 'Tell me a story about a seal, a fox and a bear. '.repeat(4);
    const ask = async (url: string) => {
      const response = await chat(url, question, { max_tokens: 8 });
      return (await response.json()) as {
        choices: object[];
        usage: { prompt_tokens: number; prompt_tokens_details: { cached_tokens: number } };
      };
    };
    const first = await serve(args);
    const cold = await ask(first.url);
    expect(cold.usage.prompt_tokens_details.cached_tokens).toBe(0);
    await vi.waitFor(
      async () => expect(await readdir(folder)).toEqual([expect.stringMatching(/\.blocks$/)]),
      20_000,
    );
    first.child.kill('SIGKILL');
    const { choices, usage } = await ask((await serve(args)).url);
    expect(choices).toEqual(cold.choices);
    // All but the last one, or a few that are faster to read than to copy.
    expect(usage.prompt_tokens - usage.prompt_tokens_details.cached_tokens).toBeLessThan(8);
  });

  it('serves a text-only conversion whose config.json still has towers, and refuses media', async () => {
    const folder = await rewriteCheckpoint(DEMO_MODEL, join(temporaryFolder(), 'text-only'), {
      tensors: (all) => all.filter(({ name }) => /language_model|^model\.(?!vision|audio|embed_)/.test(name)),
    });
    const { url } = await serve(['--model', folder, '--name', 'demo']);
    const { data } = (await (await fetch(`${url}/v1/models`)).json()) as { data: object[] };
    expect(data).toMatchObject([{ id: 'demo', input_modalities: ['text'] }]);
    expect(await answerOf(await chat(url, 'What is 31 + 90?'))).toBe('31 + 90 = 121');
    const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${RED_DOT}` } };
    const messages = [{ role: 'user', content: [picture] }];
    const refused = await chat(url, '', { messages });
    expect(refused.status).toBe(400);
    const { stderr, status } = await markbase([
      'generate',
      '--model',
      folder,
      '--prompt',
      'a',
      '--image',
      'a.png',
    ]);
    expect(status).not.toBe(0);
    expect(stderr).toContain('it is a text-only conversion');
  });

  it('cuts off answers that do not finish in time on SIGTERM, even during a prompt', async () => {
    const { url, child, ended } = await serve([
      '--model',
      DEMO_MODEL,
      '--name',
      'demo',
      '--drain',
      '1',
      '--precision',
      'high',
    ]);
    // Endless answers after long prompts: some prompts are still being computed when the signal arrives.
    const endless = { logit_bias: Object.fromEntries(END_TOKENS.map((id) => [id, -100])) };
    const long = 'one two three four five six seven eight nine ten '.repeat(24);
    // Headers arrive at once: every request was received, and the prompts are still being computed.
    const responses = await Promise.all(
      Array.from({ length: 8 }, (_, index) => chat(url, `${index} ${long}`, { stream: true, ...endless })),
    );
    child.kill('SIGTERM');
    for (const response of responses) expect(await response.text()).toContain('shutting_down');
    expect((await ended).status).toBe(0);
  });

  it('serves again after kill -9, and continues after its checkpoint is removed', async () => {
    const folder = join(temporaryFolder(), 'demo');
    await cp(DEMO_MODEL, folder, { recursive: true });
    const first = await serve(['--model', folder]);
    const running = chat(first.url, 'Tell me a story about a seal.', { stream: true }).then((r) => r.text());
    await chat(first.url, 'What is 31 + 90?', { max_tokens: 1 });
    first.child.kill('SIGKILL');
    await expect(running).rejects.toThrow();

    const second = await serve(['--model', folder]);
    await rm(folder, { recursive: true });
    expect(await answerOf(await chat(second.url, 'What is 31 + 90?'))).toBe('31 + 90 = 121');
    second.child.kill('SIGTERM');
    expect((await second.ended).status).toBe(0);
  });

  it('accepts pictures and sounds', async () => {
    const { url } = await serve(['--model', DEMO_MODEL, '--name', 'demo']);
    const tokensOf = async (parts: readonly object[]) => {
      const content = [...parts, { type: 'text', text: 'What is this?' }];
      const response = await chat(url, '', { messages: [{ role: 'user', content }], max_tokens: 2 });
      const body = (await response.json()) as { usage: { prompt_tokens: number } };
      return body.usage.prompt_tokens;
    };
    const image = {
      type: 'image_url',
      image_url: { url: `data:image/png;base64,${RED_DOT}`, max_soft_tokens: 70 },
    };
    const audio = {
      type: 'input_audio',
      input_audio: { data: silentWav(16_000, { sampleRate: 16_000 }).toString('base64'), format: 'wav' },
    };
    const plain = await tokensOf([]);
    // Plus two delimiters each: 64 tokens for a square, 25 for one second.
    expect((await tokensOf([image])) - plain).toBe(66);
    expect((await tokensOf([audio])) - plain).toBe(27);
    const broken = await chat(url, '', {
      messages: [{ role: 'user', content: [{ ...image, image_url: { url: 'data:image/png;base64,AAAA' } }] }],
    });
    expect([broken.status, await broken.json()]).toMatchObject([400, { error: { code: 'invalid_media' } }]);
  });

  it('transcribes speech, also in a stream', async () => {
    const { url } = await serve(['--model', DEMO_MODEL, '--name', 'demo']);
    const recording = await readFile(join(HELD_OUT, 'speech', '01.ogg'));
    const transcription = async (extra: Readonly<Record<string, string>> = {}, bytes = recording) => {
      const body = new FormData();
      body.append('file', new Blob([new Uint8Array(bytes)]), 'speech.ogg');
      for (const [name, value] of Object.entries({ model: 'demo', ...extra })) body.append(name, value);
      const answer = await fetch(`${url}/v1/audio/transcriptions`, { method: 'POST', body });
      return [answer.status, await answer.text()] as const;
    };
    expect(await transcription({ response_format: 'text' })).toEqual([200, 'six hundred five\n']);
    expect((await transcription({ stream: 'true' }))[1]).toContain(
      '{"type":"transcript.text.delta","delta":"six hundred five"}',
    );
    expect(await transcription({}, Buffer.from('no sound'))).toEqual([
      400,
      expect.stringContaining('"param":"file"'),
    ]);
  });

  it('shows the model the pictures in the result of a tool, in each API', async () => {
    const { url } = await serve(['--model', DEMO_MODEL, '--name', 'demo']);
    const picture = (await readFile(join(HELD_OUT, 'scenes', '03.png'))).toString('base64');
    const post = async (path: string, body: object) => {
      const answer = await fetch(`${url}/v1/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'demo', temperature: 0, ...body }),
      });
      return [answer.status, await answer.text()] as const;
    };
    // The picture is only in the result: the demo model was not trained with such results, but it names most of it.
    const seen = [200, expect.stringMatching(/yellow cone.+white cube/)];
    const ask = { role: 'user', content: 'Describe the image.' };
    const source = { type: 'base64', media_type: 'image/png', data: picture };
    const result = { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'image', source }] };
    const use = { type: 'tool_use', id: 'a', name: 'look', input: {} };
    const messages = [ask, { role: 'assistant', content: [use] }, { role: 'user', content: [result] }];
    expect(await post('messages', { max_tokens: 60, messages })).toEqual(seen);

    const image_url = `data:image/png;base64,${picture}`;
    const call = { id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } };
    const chatMessages = [
      ask,
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'a', content: [{ type: 'image_url', image_url: { url: image_url } }] },
    ];
    expect(await post('chat/completions', { max_tokens: 60, messages: chatMessages })).toEqual(seen);

    const input = [
      ask,
      { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'a', output: [{ type: 'input_image', image_url }] },
    ];
    expect(await post('responses', { max_output_tokens: 60, input })).toEqual(seen);
  });

  it('warns when anybody can reach it without a key', async () => {
    const note = /anybody who reaches .* set MARKBASE_API_KEY, or leave --host out","host":"0\.0\.0\.0"/;
    const stderrOf = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
      const { child, ended } = await serve(['--model', DEMO_MODEL, ...args], env);
      child.kill('SIGTERM');
      return (await ended).stderr;
    };
    expect(await stderrOf(['--host', '0.0.0.0'])).toMatch(note);
    expect(await stderrOf(['--host', '0.0.0.0'], { MARKBASE_API_KEY: 'secret' })).not.toMatch(/anybody/);
    expect(await stderrOf([])).not.toMatch(/anybody/);
  });

  it('is listed by ps until it ends, under the name that it says', async () => {
    const state = { XDG_STATE_HOME: temporaryFolder() };
    const { url, child, ended } = await serve(['--model', DEMO_MODEL, '--name', 'mine'], state);
    const listed = () => markbaseJson<{ servers: object[] }>(['ps'], state);
    expect(await listed()).toEqual({
      servers: [
        {
          pid: child.pid,
          url,
          command: 'serve',
          model: 'mine',
          startedAtMs: expect.any(Number),
          isAnswering: true,
        },
      ],
    });
    child.kill('SIGTERM');
    await ended;
    expect(await listed()).toEqual({ servers: [] });
  });

  it('reports why it cannot serve', async () => {
    const missing = await markbase(['serve', '--model', '/nowhere']);
    expect([missing.status, missing.stderr]).toEqual([1, expect.stringContaining('/nowhere')]);
    const { url } = await serve(['--model', DEMO_MODEL]);
    const busy = await markbase(['serve', '--model', DEMO_MODEL, '--port', new URL(url).port]);
    expect([busy.status, busy.stderr]).toEqual([
      1,
      expect.stringMatching(/--port.*a free port, or 0 for any/),
    ]);
  });
});
