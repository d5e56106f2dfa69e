import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { modelPath, moeModelPath } from '@markbase/demo-model';
import { openDevice } from '@markbase/metal-runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type GemmaModel, load, tool } from '../src/index.js';

const heldOut = join(modelPath, '..', 'held-out');
const photo = join(heldOut, 'scenes', '01.jpg');
const speech = join(heldOut, 'speech', '20.flac');

let model: GemmaModel;
beforeAll(async () => {
  model = await load(modelPath, { device: 'cpu', maxSequences: 2 });
});
afterAll(() => model.dispose());

it('refuses options that do not exist, before anything is downloaded or read', async () => {
  const names = { context_tokens: 'contextTokens', adapter: 'adapters', cachedir: 'cacheDir' };
  for (const [name, meant] of Object.entries(names)) {
    await expect(load('nobody/nothing', { [name]: 1 })).rejects.toThrow(`Did you mean ${meant}?`);
  }
  await expect(model.transcribe(speech, { max_tokens: 1 } as object)).rejects.toThrow(
    'Did you mean maxTokens?',
  );
  await expect(model.describe(photo, 'What is it?', { max_tokens: 1 } as object)).rejects.toThrow(
    'Did you mean maxTokens?',
  );
});

describe('questions', () => {
  it('answers text, parts and conversations', async () => {
    const { text } = await model.generate('What is 17 + 25?', { temperature: 0 });
    expect(text).toContain('42');
    const conversation = [{ role: 'user' as const, content: ['What is 17 + 25?'] }];
    const again = await model.generate(conversation, { temperature: 0 });
    expect(again.text).toBe(text);
    expect(again.usage.cachedTokens).toBeGreaterThan(0);
  });

  it('streams the same answer that it returns', async () => {
    let streamed = '';
    const options = { temperature: 0, maxTokens: 20 };
    for await (const event of model.stream('Tell me a story about a fox.', options)) {
      if (event.type === 'text') streamed += event.text;
    }
    expect(streamed).toBe((await model.generate('Tell me a story about a fox.', options)).text);
    expect(streamed.length).toBeGreaterThan(20);
  });

  it('answers a batch in the order of the questions', async () => {
    const answers = await model.generateBatch(['What is 3 + 4?', 'What is 30 + 40?', 'What is 5 + 6?'], {
      temperature: 0,
    });
    expect(answers.map(({ text }) => /\d+(?=\D*$)/.exec(text)?.[0])).toEqual(['7', '70', '11']);
  });

  it('counts the tokens that the prompt has', async () => {
    const { usage } = await model.generate([{ image: photo }, 'Describe the image.'], { maxTokens: 1 });
    expect(await model.countTokens([{ image: photo }, 'Describe the image.'])).toBe(usage.promptTokens);
    const withSystem = await model.countTokens('Hi', { system: 'Answer in rhymes.' });
    expect(withSystem).toBeGreaterThan(await model.countTokens('Hi'));
  });
});

describe('media', () => {
  it('describes a picture by path, URL and bytes', async () => {
    const bytes = await readFile(photo);
    const server = createServer((_, response) => response.end(bytes)).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const sources = [
      photo,
      pathToFileURL(photo),
      bytes,
      `data:image/jpeg;base64,${bytes.toString('base64')}`,
      `http://127.0.0.1:${port}/photo.jpg`,
    ];
    const answers: string[] = [];
    for (const source of sources) answers.push(await model.describe(source, undefined, { temperature: 0 }));
    server.close();
    expect(new Set(answers)).toEqual(new Set(['A gray cross on the left.']));
  });

  it('says what is wrong with a source', async () => {
    const refused = createServer((_, response) => response.writeHead(404).end()).listen(0, '127.0.0.1');
    await new Promise((resolve) => refused.once('listening', resolve));
    const { port } = refused.address() as AddressInfo;
    await expect(model.describe(`http://127.0.0.1:${port}/none.jpg?key=secret`)).rejects.toThrow(
      `cannot download http://127.0.0.1:${port}/none.jpg: the server answered with status 404`,
    );
    refused.close();
    await expect(model.describe('ftp://host/photo.jpg')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(model.describe('missing.jpg')).rejects.toMatchObject({ code: 'FILE_ACCESS' });
    await expect(model.generate([{ picture: photo } as never])).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      expected: 'text, { image }, { audio }, { video }, or { type: … }',
    });
  });

  it('transcribes a recording, and hears it in a message', async () => {
    const segments: string[] = [];
    const { text } = await model.transcribe(speech, { onSegment: (segment) => segments.push(segment.text) });
    expect(segments).toEqual([text]);
    expect(text).toBe('nine three four');
    const instruction = 'Transcribe the following speech segment.';
    const heard = await model.generate([{ audio: await readFile(speech) }, instruction], { temperature: 0 });
    expect(heard.text.trim()).toBe(text);
  });
});

describe('schemas', () => {
  const question = 'Make JSON about Mia, who is 7 years old.';

  it('returns a value that zod has checked', async () => {
    const schema = z.object({ name: z.string(), age: z.number().int() });
    const { value } = await model.generate(question, { schema, temperature: 0, maxTokens: 60 });
    const age: number = value.age;
    expect(age).toBe(Math.trunc(age));
    expect(Object.keys(value)).toEqual(['name', 'age']);
  });

  it('returns a value for a JSON Schema', async () => {
    const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] };
    const { value, text } = await model.generate(question, { schema, temperature: 0, maxTokens: 30 });
    expect(value).toEqual(JSON.parse(text));
    expect(Object.keys(value as object)).toEqual(['ok']);
  });

  it('reports what only the schema knows', async () => {
    const schema = z.object({ ok: z.boolean().refine(() => false, 'is never right') });
    const answer = model.generate(question, { schema, temperature: 0, maxTokens: 30 });
    await expect(answer).rejects.toMatchObject({ code: 'INVALID_ANSWER', problem: 'ok: is never right' });
  });
});

describe('tools', () => {
  const question = 'What is the weather in Paris?';
  const parameters = z.object({ city: z.string().describe('Name of the city.') });

  it('runs calls until the model answers, with flat and nested definitions', async () => {
    const cities: string[] = [];
    const run = ({ city }: { city: string }) => {
      cities.push(city);
      return { temperature: 21, condition: 'sunny' };
    };
    const description = 'Get the weather in a city.';
    const flat = tool({ name: 'get_weather', description, parameters, run });
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const nested = {
      type: 'function' as const,
      function: { name: 'get_weather', description, parameters: schema },
      run,
    };
    const answers = [];
    for (const one of [flat, nested]) {
      answers.push(await model.runTools(question, { tools: [one], temperature: 0 }));
    }
    expect(cities).toEqual(['Paris', 'Paris']);
    for (const { text, runs, messages } of answers) {
      expect(text).toContain('21');
      expect(runs).toEqual([
        {
          name: 'get_weather',
          arguments: { city: 'Paris' },
          result: { temperature: 21, condition: 'sunny' },
        },
      ]);
      expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    }
  });

  it('tells the model about errors, and ends a loop that does not', async () => {
    const description = 'Get the weather in a city.';
    const failing = tool({
      name: 'get_weather',
      description,
      parameters,
      run: () => {
        throw new TypeError('no connection');
      },
    });
    const { runs } = await model.runTools(question, { tools: [failing], temperature: 0 });
    expect(runs[0]?.result).toEqual({ error: 'no connection' });
    const endless = model.runTools(question, { tools: [failing], temperature: 0, maxRounds: 0 });
    await expect(endless).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED', limit: 'maxRounds' });
    await expect(model.runTools(question, { tools: [failing, failing] })).rejects.toMatchObject({
      argument: 'tools[1]',
    });
  });
});

describe('lifetime', () => {
  it('frees everything at the end of a block, except for a device of the caller', async () => {
    const device = await openDevice({ kind: 'cpu' });
    let used: GemmaModel;
    {
      await using inner = await load(modelPath, { device });
      used = inner;
      expect((await inner.generate('Hello', { maxTokens: 1 })).usage.completionTokens).toBe(1);
    }
    await expect(used.generate('Hello')).rejects.toMatchObject({ code: 'DISPOSED' });
    await expect(used.transcribe(speech)).rejects.toMatchObject({ code: 'DISPOSED' });
    expect(device.allocate(16, 'still open').sizeBytes).toBe(16);
    device.dispose();
  });

  it('refuses pictures if the model takes none', async () => {
    using blind = await load(moeModelPath, { device: 'cpu' });
    await expect(blind.describe(photo)).rejects.toMatchObject({ code: 'UNSUPPORTED_MODEL' });
  });
});
