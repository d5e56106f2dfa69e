import { generate } from '@markbase/text';
import { describe, expect, it, vi } from 'vitest';
import { SeededRandom } from '../../../fixtures/seeded-random.js';
import { serveDemo } from './serve-demo.js';

const STREAMS = 64;
const REQUESTS = 128;
const demo = serveDemo({ limits: { queue: 256 } }, { maxSequences: 16, rememberedSequences: 4 });

interface Prepared {
  readonly system: string;
  readonly question: string;
  readonly maxTokens: number;
  /** The answer when nothing else runs. */
  readonly text: string;
}

/** Prompts of random lengths, some with a common prefix. */
async function prepare(random: SeededRandom, count: number): Promise<Prepared[]> {
  const prepared: Prepared[] = [];
  for (let index = 0; index < count; index++) {
    const words = ['boat', 'river', 'garden', 'storm', 'bear', 'seal'];
    const own = Array.from({ length: random.integer(0, 60) }, () => random.pick(words)).join(' ');
    const system = random.next() < 0.5 ? `You may use these words: ${words.join(' ')}.` : own;
    const question = `Tell me a story about a ${random.pick(words)}. ${index}`;
    const maxTokens = random.integer(1, 24);
    const messages = [
      { role: 'system' as const, content: system },
      { role: 'user' as const, content: question },
    ];
    const { text } = await generate(demo.model, { messages, temperature: 0, maxTokens });
    prepared.push({ system, question, maxTokens, text });
  }
  return prepared;
}

async function ask({ system, question, maxTokens }: Prepared, leaveAfter: number): Promise<string | null> {
  const stream = await demo.client.chat.completions.create({
    model: 'demo',
    messages: [
      { role: 'system', content: system },
      { role: 'user', content: question },
    ],
    temperature: 0,
    max_tokens: maxTokens,
    stream: true,
  });
  let text = '';
  let chunks = 0;
  for await (const { choices } of stream) {
    text += choices[0]?.delta.content ?? '';
    if (chunks++ >= leaveAfter) return null;
  }
  return text;
}

describe('many clients at once', () => {
  it('get the same answers as each would get alone', async () => {
    const random = new SeededRandom(3);
    const prepared = await prepare(random, 16);
    let left = REQUESTS;
    let answered = 0;
    const client = async () => {
      while (left-- > 0) {
        const request = random.pick(prepared);
        const leaveAfter = random.next() < 0.2 ? random.integer(0, 8) : Number.POSITIVE_INFINITY;
        const text = await ask(request, leaveAfter);
        if (text === null) continue;
        answered++;
        expect(text).toBe(request.text);
      }
    };
    await Promise.all(Array.from({ length: STREAMS }, client));
    expect(answered).toBeGreaterThan(REQUESTS / 2);
    await vi.waitFor(() => expect(demo.model.idleSequences).toBe(16), { timeout: 20_000 });
  });
});
