import { beforeAll, describe, expect, it } from 'vitest';
import { SeededRandom } from '../../../../fixtures/seeded-random.js';
import { testChatTemplate } from '../../test/test-chat-template.js';
import { loadTestTokenizer } from '../../test/test-tokenizer.js';
import { EventLoopSlice } from '../tokenizer/event-loop-slice.js';
import type { Tokenizer } from '../tokenizer/index.js';
import type { ChatMessage } from './chat-message.js';
import { ChatTemplate } from './chat-template.js';
import { encodeChat, encodeChatInSlices } from './encode-chat.js';
import { leastTokens } from './least-tokens.js';

let tokenizer: Tokenizer;
beforeAll(async () => {
  tokenizer = await loadTestTokenizer();
});

const template = testChatTemplate('small');
const conversation = (turns: number): ChatMessage[] =>
  Array.from({ length: turns }, (_, turn) => ({
    role: turn % 2 === 0 ? 'user' : 'assistant',
    content: `turn ${turn} <turn|> \ue000`,
  }));
const options = { contextTokens: 1_000_000 };

/** Counts the turns of the event loop while something runs. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await work;
  isOver = true;
  return turns;
}

describe('encodeInSlices', () => {
  it('yields the same tokens as encode, for texts of any length and kind', async () => {
    const random = new SeededRandom(1);
    const pieces = ['a', ' ', '  ', 'the', '🙂', 'é', '\n\n', '<|turn>', '▁', '\ud800', 'x'.repeat(20_000)];
    for (let round = 0; round < 10; round++) {
      const text = Array.from({ length: random.integer(0, 20) }, () => random.pick(pieces)).join('');
      const sliced = await tokenizer.encodeInSlices(text, new EventLoopSlice());
      expect(sliced).toEqual(tokenizer.encode(text));
    }
  });

  it('lets the event loop run, and two concurrent long texts do not disturb each other', async () => {
    const long = 'ab'.repeat(200_000);
    const other = ' the weather'.repeat(40_000);
    const encoding = [long, other].map((text) => tokenizer.encodeInSlices(text, new EventLoopSlice()));
    expect(await turnsDuring(Promise.all(encoding))).toBeGreaterThan(3);
    expect(await encoding[0]).toEqual(tokenizer.encode(long));
    expect(await encoding[1]).toEqual(tokenizer.encode(other));
  });

  it('rejects with the reason of its signal', async () => {
    const controller = new AbortController();
    const encoding = tokenizer.encodeInSlices('ab'.repeat(500_000), new EventLoopSlice(controller.signal));
    controller.abort(new RangeError('left'));
    await expect(encoding).rejects.toThrow('left');
  });
});

describe('encodeChatInSlices', () => {
  it.each([3, 60])('yields the same tokens as encodeChat for %i messages', async (turns) => {
    const messages = conversation(turns);
    const encoded = await encodeChatInSlices(tokenizer, template, messages, {}, options);
    expect({ ...encoded }).toEqual({ ...encodeChat(tokenizer, template, messages) });
  });

  it('renders large conversations in a worker, and passes on errors of the template', async () => {
    const slow = new ChatTemplate('{% for a in messages %}{% for b in messages %}x{% endfor %}{% endfor %}');
    const encoding = encodeChatInSlices(tokenizer, slow, conversation(300), {}, options);
    expect(await turnsDuring(encoding)).toBeGreaterThan(3);
    const strict = new ChatTemplate("{{ raise_exception('no more than two') }}");
    await expect(encodeChatInSlices(tokenizer, strict, conversation(60), {}, options)).rejects.toMatchObject({
      code: 'CHAT_TEMPLATE',
      reason: expect.stringContaining('no more than two'),
    });
  });

  it('stops rendering when its signal is aborted', async () => {
    const endless = new ChatTemplate(
      '{% for a in messages %}{% for b in messages %}{% for c in messages %}x{% endfor %}{% endfor %}{% endfor %}',
    );
    const controller = new AbortController();
    const { signal } = controller;
    const encoding = encodeChatInSlices(tokenizer, endless, conversation(1000), {}, { ...options, signal });
    setTimeout(() => controller.abort(new RangeError('left')), 100);
    await expect(encoding).rejects.toThrow('left');
  });
});

describe('leastTokens', () => {
  it('never exceeds the length of the prompt, whatever its messages are', () => {
    const random = new SeededRandom(2);
    const texts = [
      '',
      ' ',
      'a',
      'the weather',
      ' '.repeat(400),
      'x'.repeat(300),
      '<|channel>a<channel|>b',
      '🙂',
    ];
    for (let round = 0; round < 100; round++) {
      const messages = Array.from({ length: random.integer(1, 6) }, (_, turn): ChatMessage => {
        const text = random.pick(texts);
        const content = random.next() < 0.5 ? text : [{ type: 'text' as const, text }];
        return { role: turn % 2 === 0 ? 'user' : 'assistant', content };
      });
      const { ids } = encodeChat(tokenizer, template, messages);
      expect(leastTokens(tokenizer, messages)).toBeLessThanOrEqual(ids.length);
    }
  });

  it('grows with text, messages and media', () => {
    const text = 'x'.repeat(100_000);
    expect(leastTokens(tokenizer, [{ role: 'user', content: text }])).toBeGreaterThan(5000);
    expect(leastTokens(tokenizer, conversation(400))).toBeGreaterThanOrEqual(200);
    const part = { type: 'image' as const, softTokens: { rows: 70 } };
    expect(leastTokens(tokenizer, [{ role: 'user', content: [part, part] }])).toBe(141);
  });

  it('refuses a text that cannot fit before it is encoded', async () => {
    const messages = [{ role: 'user' as const, content: 'x'.repeat(1e6) }];
    const limited = { contextTokens: 1000 };
    await expect(encodeChatInSlices(tokenizer, template, messages, {}, limited)).rejects.toMatchObject({
      code: 'CONTEXT_LENGTH',
    });
  });
});
