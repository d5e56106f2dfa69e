import { generate } from '@markbase/text';
import { describe, expect, it } from 'vitest';
import { serveDemo } from './serve-demo.js';

const demo = serveDemo();
const ask = (content: string) => ({
  model: 'demo',
  messages: [{ role: 'user' as const, content }],
  temperature: 0,
});

describe('chat completions, with the openai client', () => {
  it('answers as the model does', async () => {
    const alone = await generate(demo.model, {
      messages: [{ role: 'user', content: 'What is 12 + 30?' }],
      temperature: 0,
    });
    const completion = await demo.client.chat.completions.create(ask('What is 12 + 30?'));
    expect(completion).toMatchObject({ object: 'chat.completion', model: 'demo' });
    expect(completion.choices).toMatchObject([
      { index: 0, message: { role: 'assistant', content: alone.text, refusal: null }, finish_reason: 'stop' },
    ]);
    expect(completion.usage).toMatchObject({
      prompt_tokens: alone.usage.promptTokens,
      completion_tokens: alone.usage.completionTokens,
      total_tokens: alone.usage.promptTokens + alone.usage.completionTokens,
    });
  });

  it('streams chunks that share a head, with one finish reason, usage and [DONE]', async () => {
    const whole = await demo.client.chat.completions.create(ask('Tell me a story about a fox.'));
    const stream = await demo.client.chat.completions.create({
      ...ask('Tell me a story about a fox.'),
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(
      new Set(chunks.map(({ id, created, model, object }) => `${id} ${created} ${model} ${object}`)).size,
    ).toBe(1);
    expect(chunks[0]!.choices[0]!.delta).toEqual({ role: 'assistant', content: '' });
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe(
      whole.choices[0]!.message.content,
    );
    const reasons = chunks.flatMap(({ choices }) => choices.map((choice) => choice.finish_reason));
    expect(reasons.filter((reason) => reason !== null)).toEqual(['stop']);
    expect(reasons.at(-1)).toBe('stop');
    expect(chunks.at(-1)!.choices).toEqual([]);
    const { completion_tokens, prompt_tokens } = whole.usage!;
    expect(chunks.at(-1)!.usage).toMatchObject({ completion_tokens, prompt_tokens });
    expect(chunks.length).toBeGreaterThan(10);
  });
});
