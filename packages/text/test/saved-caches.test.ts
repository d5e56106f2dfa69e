import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { CorruptFileError, FileAccessError, InvalidArgumentError } from '@markbase/core';
import { type Device, openDevice } from '@markbase/metal-runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openCuda } from '../../../fixtures/open-cuda.js';
import { openMetal } from '../../../fixtures/open-metal.js';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { type ChatMessage, loadTextModel, Session, type TextModel } from '../src/index.js';
import { BlockFileReader, BlockFileWriter } from '../src/saved/block-file.js';
import { messagesFromJson, messagesToJson } from '../src/saved/message-json.js';
import { fixture, openTestDevice } from './fixtures.js';

const DEMO = fileURLToPath(new URL('../../demo-model/model', import.meta.url));
const GREEDY = { temperature: 0, maxTokens: 24 };

let device: Device;
let folder: string;
let file: string;
/** The answer of a session that was never interrupted. */
let expected: { text: string; tokens: readonly number[] };
let messages: readonly ChatMessage[];

const load = (on: Device, precision: 'high' | 'fast' = 'high'): Promise<TextModel> =>
  loadTextModel(DEMO, on, { precision, contextTokens: 512 });

beforeAll(async () => {
  device = await openTestDevice();
  folder = temporaryFolder();
  file = path.join(folder, 'story.blocks');
  using model = await load(device);
  const session = new Session(model, GREEDY);
  await session.generate('Tell me a story.');
  const { tokens, bytes } = await session.save(file);
  expect(tokens).toBeGreaterThan(24);
  expect(readFileSync(file)).toHaveLength(bytes);
  messages = [...session.messages];
  expected = await session.generate('And another one?');
});
afterAll(() => device.dispose());

/** A copy of the file with one byte changed. */
function damaged(offset: number, name = 'damaged.blocks'): string {
  const bytes = readFileSync(file);
  const at = offset < 0 ? bytes.length + offset : offset;
  bytes[at] = bytes[at]! ^ 1;
  const target = path.join(folder, name);
  writeFileSync(target, bytes);
  return target;
}

describe('a saved conversation', () => {
  it('goes on in another process with the same bits, and is not read again', async () => {
    using model = await load(device);
    const restored = await model.restore(file);
    expect(restored.messages).toEqual(messages);
    const session = new Session(model, { ...GREEDY, messages: restored.messages });
    const { text, tokens, usage } = await session.generate('And another one?');
    expect({ text, tokens }).toEqual({ text: expected.text, tokens: expected.tokens });
    expect(usage.cachedTokens).toBe(restored.tokens);
    expect(model.activity.prefillTokens).toBe(usage.promptTokens - restored.tokens);
  });

  it('is the same file after a way through the memory of another device', { timeout: 300_000 }, async () => {
    for (const other of [await openMetal(openDevice), await openCuda(openDevice)]) {
      if (!other) continue;
      const model = await load(other);
      const { messages, tokens } = await model.restore(file);
      const again = path.join(folder, `${other.info.kind}.blocks`);
      expect(await new Session(model, { messages }).save(again)).toMatchObject({ tokens });
      model.dispose();
      other.dispose();
      using home = await load(device);
      const { tokens: back } = await home.restore(again);
      expect(back).toBe(tokens);
      const session = new Session(home, { ...GREEDY, messages });
      expect((await session.generate('And another one?')).tokens).toEqual(expected.tokens);
    }
  });

  it('is refused if it is damaged, and by other models and precisions', async () => {
    using model = await load(device);
    // Bytes of the magic, of the version, of a record, of the index, and of its checksum.
    for (const offset of [0, 40, -100, -50]) {
      await expect(model.restore(damaged(offset)), `${offset}`).rejects.toThrow(CorruptFileError);
    }
    await expect(model.restore(damaged(16))).rejects.toThrow(/version 1 .*received "?version 0/);
    const cut = damaged(40, 'cut.blocks');
    for (const size of [5000, 20, 3, 0]) {
      truncateSync(cut, size);
      await expect(model.restore(cut), `${size}`).rejects.toThrow(CorruptFileError);
    }
    const contradicting = path.join(folder, 'contradicting.blocks');
    const writer = await BlockFileWriter.create(contradicting);
    const reader = await BlockFileReader.open(file);
    await reader.close();
    await writer.finish(reader.index);
    await expect(model.restore(contradicting)).rejects.toThrow(/contradicts itself/);
    await expect(model.restore(path.join(folder, 'none'))).rejects.toThrow(FileAccessError);
    await expect(new Session(model).save(path.join(folder, 'none/x'))).rejects.toThrow(FileAccessError);
    const taken = path.join(folder, 'taken');
    mkdirSync(taken);
    await expect(new Session(model).save(taken)).rejects.toThrow(FileAccessError);
    expect(readdirSync(folder).filter((name) => name.endsWith('.partial'))).toEqual([]);
    using fast = await load(device, 'fast');
    await expect(fast.restore(file)).rejects.toThrow(/precision fast/);
    using other = await loadTextModel(fixture('31b-hf'), device, { precision: 'high', contextTokens: 64 });
    await expect(other.restore(file)).rejects.toThrow(/another model/);
    await expect(other.restore(file)).rejects.toThrow(InvalidArgumentError);
  });

  it('without messages, or beside a running turn', async () => {
    using model = await load(device);
    const session = new Session(model, GREEDY);
    const empty = path.join(folder, 'empty.blocks');
    expect((await session.save(empty)).tokens).toBe(0);
    expect(await model.restore(empty)).toEqual({ messages: [], tokens: 0 });
    for await (const _ of session.stream('Tell me a story.')) {
      await expect(session.save(empty)).rejects.toThrow(/one turn at a time/);
      break;
    }
  });

  it('keeps soft tokens and exact numbers', () => {
    const softTokens = {
      kind: 'image',
      rows: 1,
      width: 2,
      values: Float32Array.of(1.5, -0),
      contentKey: 'a',
    };
    const calls = [{ name: 'f', arguments: { big: 12345678901234567890n } }];
    const before = [
      {
        role: 'user',
        content: [
          { type: 'image', softTokens },
          { type: 'text', text: 'What?' },
        ],
      },
      { role: 'assistant', content: null, toolCalls: calls },
    ] as const;
    const after = messagesFromJson(JSON.parse(JSON.stringify(messagesToJson(before))));
    expect(after[0]).toEqual(before[0]);
    expect(after[1]!.toolCalls![0]!.arguments).toBe('{"big":12345678901234567890}');
  });
});
