import { generate } from '@markbase/text';
import { describe, expect, it } from 'vitest';
import { serveDemo } from './serve-demo.js';

const demo = serveDemo();
const common = { model: 'demo', temperature: 0, max_tokens: 12 };

describe('plain completions, with the openai client', () => {
  it('continues text without a template, several prompts at once', async () => {
    const prompts = ['Once upon a time', 'The fox'];
    let tokens = 0;
    const { choices, usage } = await demo.client.completions.create({ ...common, prompt: prompts });
    for (const [index, prompt] of prompts.entries()) {
      const alone = await generate(demo.model, { prompt, maxTokens: 12, temperature: 0 });
      expect(choices[index]).toMatchObject({ index, text: alone.text, finish_reason: alone.finishReason });
      tokens += alone.usage.completionTokens;
    }
    expect(usage!.completion_tokens).toBe(tokens);
  });

  it('streams, takes token ids, and reports log-probabilities', async () => {
    const { tokenizer } = await demo.model.language();
    const prompt = [...tokenizer.encode('Once upon a time')];
    const whole = await demo.client.completions.create({ ...common, prompt, logprobs: 2 });
    const { tokens, token_logprobs, top_logprobs, text_offset } = whole.choices[0]!.logprobs!;
    expect(tokens!.join('')).toBe(whole.choices[0]!.text);
    expect(token_logprobs!.length).toBe(top_logprobs!.length);
    expect(text_offset![1]).toBe(tokens![0]!.length);
    const stream = await demo.client.completions.create({
      ...common,
      prompt,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = '';
    let total = 0;
    for await (const { choices, usage } of stream) {
      text += choices[0]?.text ?? '';
      total += usage?.completion_tokens ?? 0;
    }
    expect(text).toBe(whole.choices[0]!.text);
    expect(total).toBe(12);
  });

  it('refuses to echo', async () => {
    await expect(
      demo.client.completions.create({ ...common, prompt: 'a', echo: true }),
    ).rejects.toMatchObject({ status: 400, param: 'echo' });
  });
});
