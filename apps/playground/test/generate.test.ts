import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { DEMO_MODEL, hasDemoModel, markbase, markbaseJson, talkingModel } from './run-markbase.js';

/** A GIF with one pixel. */
const DOT = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

interface Answer {
  text: string;
  reasoning: string;
  toolCalls: unknown[];
  usage: { promptTokens: number; completionTokens: number };
  finishReason: string;
  timings: { firstTokenMs: number; totalMs: number };
}

describe('with random weights', () => {
  test('continues plain text, reproducibly with the same seed', async () => {
    const model = await talkingModel();
    const args = ['generate', '--model', model, '--raw', '--prompt', 'Once upon', '--max-tokens', '8'];
    const sampling = ['--temperature', '1', '--seed', '5'];
    const [answer, again] = await Promise.all([
      markbaseJson<Answer>([...args, ...sampling]),
      markbaseJson<Answer>([...args, ...sampling]),
    ]);
    expect(answer).toMatchObject({
      reasoning: '',
      toolCalls: [],
      usage: { completionTokens: 8 },
      finishReason: 'length',
    });
    expect(answer.usage.promptTokens).toBeGreaterThan(1);
    expect(answer.timings.totalMs).toBeGreaterThanOrEqual(answer.timings.firstTokenMs);
    expect(answer.text).not.toBe('');
    expect(again.text).toBe(answer.text);

    const streamed = await markbase([...args, ...sampling]);
    expect(streamed).toEqual({ status: 0, stdout: `${answer.text}\n`, stderr: '' });
  });

  test('reports errors in a request', async () => {
    const model = await talkingModel();
    const run = (...args: string[]) => markbase(['generate', '--model', model, '--prompt', 'Hello', ...args]);
    expect(await run()).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringContaining('add --raw'),
    });
    expect(await run('--raw', '--system', 'Be brief.')).toMatchObject({ status: 1 });
    expect(await run('--raw', '--context', '4', '--prompt', 'one two three four five')).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/the prompt has \d+ tokens, but the context holds 4/),
    });
    expect(await run('--raw', '--image', 'cat.png')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('--image: expected an option that works with --raw'),
    });
    const tools = join(temporaryFolder(), 'tools.json');
    await writeFile(tools, '{}');
    expect(await run('--tools', tools)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('JSON list of tools'),
    });
  });

  test('Ctrl-C ends it with 130', async () => {
    const model = await talkingModel();
    const endless = ['--raw', '--temperature', '1', '--top-k', '0', '--top-p', '1', '--context', '4096'];
    const args = ['generate', '--model', model, '--prompt', 'Hello', ...endless];
    const { status, stdout, stderr } = await markbase(args, { interruptOn: /\S/ });
    expect({ status, stderr }).toEqual({ status: 130, stderr: 'interrupted\n' });
    expect(stdout).not.toBe('');
  });
});

describe.skipIf(!hasDemoModel)('with the demo model', () => {
  const chat = (prompt: string, ...args: string[]) => [
    'generate',
    ...['--model', DEMO_MODEL, '--prompt', prompt, '--temperature', '0', '--max-tokens', '200'],
    ...args,
  ];

  test('answers a chat and stops by itself', async () => {
    const answer = await markbaseJson<Answer>(chat('Hello'));
    expect(answer).toMatchObject({ finishReason: 'stop', reasoning: '', toolCalls: [] });
    expect(answer.text.trim()).not.toBe('');
  });

  test('keeps reasoning out of standard output', async () => {
    const args = chat('What is 2 plus 3?', '--thinking');
    const answer = await markbaseJson<Answer>(args);
    expect(answer.reasoning).not.toBe('');
    expect(await markbase(args)).toEqual({
      status: 0,
      stdout: `${answer.text}\n`,
      stderr: `[reasoning] ${answer.reasoning}\n`,
    });
  });

  test('accepts pictures and video, with as many tokens as their budgets allow', async () => {
    const folder = temporaryFolder();
    const [picture, frames] = [join(folder, 'dot.gif'), join(folder, 'frames')];
    await mkdir(frames);
    for (const path of [picture, join(frames, '1.gif'), join(frames, '2.gif')]) await writeFile(path, DOT);
    const brief = (...args: string[]) =>
      markbaseJson<Answer>([...chat('What is this?', ...args), '--max-tokens', '1']);
    const plain = (await brief()).usage.promptTokens;
    // A square takes 64 of 70 soft tokens, plus two delimiters.
    const once = await brief('--image', picture, '--image-tokens', '70');
    expect(once.usage.promptTokens - plain).toBe(66);
    const more = await brief('--image', picture, '--image', picture, '--image-tokens', '140');
    expect(more.usage.promptTokens - plain).toBe(2 * (121 + 2));
    const video = await brief('--video', frames);
    expect(video.usage.promptTokens - plain).toBeGreaterThan(2 * 66);
  });

  test('takes as many frames as fit the context, and says so', async () => {
    const folder = join(temporaryFolder(), 'frames');
    await mkdir(folder);
    for (let frame = 0; frame < 40; frame++) await writeFile(join(folder, `${frame}.gif`), DOT);
    const asked = chat('What is this?', '--video', folder, '--max-tokens', '8', '--json');
    const cut = await markbase([...asked, '--context', '512']);
    expect(cut.stderr).toMatch(
      /^warning: .*frames: 5 of 40 frames fit the context of 512 tokens; --context makes room for more/m,
    );
    expect((JSON.parse(cut.stdout) as Answer).usage.promptTokens).toBeLessThanOrEqual(504);
    const few = await markbase([...asked, '--context', '512', '--video-frames', '2']);
    expect(few).toMatchObject({ status: 0, stderr: '' });
  });

  test('reports errors in a picture', async () => {
    const folder = temporaryFolder();
    const text = join(folder, 'text.png');
    await writeFile(text, 'not a picture');
    const run = (...args: string[]) => markbase(chat('What is this?', ...args));
    expect(await run('--image', text)).toMatchObject({ status: 1, stdout: '' });
    expect((await run('--image', join(folder, 'none.png'))).stderr).toContain('it does not exist');
    expect((await run('--image', text, '--image-tokens', '100')).stderr).toContain('70, 140, 280, 560, 1120');
  });

  test('shows tool calls', async () => {
    const tools = join(temporaryFolder(), 'tools.json');
    const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    await writeFile(
      tools,
      JSON.stringify([{ type: 'function', function: { name: 'get_weather', parameters } }]),
    );
    const args = chat('What is the weather in Paris?', '--tools', tools);
    const answer = await markbaseJson<Answer>(args);
    expect(answer).toMatchObject({
      finishReason: 'tool-calls',
      toolCalls: [{ name: 'get_weather', arguments: { city: expect.any(String) } }],
    });
    expect((await markbase(args)).stdout).toMatch(/^\[tool call\] get_weather \{"city":/m);
  });
});
