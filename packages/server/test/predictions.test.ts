import { expect, it } from 'vitest';
import { serveDemo } from './serve-demo.js';

// A fixed number of guesses: otherwise it follows from measured times.
const demo = serveDemo({}, { speculation: { draftTokens: 4 } });

it('guesses a prediction, counts it, and leaves the answer as it is', async () => {
  const ask = async (prediction: string | null) => {
    const { choices, usage } = await demo.client.chat.completions.create({
      ...{ model: 'demo', temperature: 0, max_completion_tokens: 40 },
      messages: [{ role: 'user', content: 'Tell me a story.' }],
      prediction:
        prediction === null ? null : { type: 'content', content: [{ type: 'text', text: prediction }] },
    });
    return { content: choices[0]!.message.content!, details: usage!.completion_tokens_details! };
  };
  const plain = await ask(null);
  const guessed = await ask(plain.content);
  expect(guessed.content).toBe(plain.content);
  const accepted = guessed.details.accepted_prediction_tokens!;
  expect(accepted).toBeGreaterThan(20);
  expect(accepted).toBeGreaterThan(plain.details.accepted_prediction_tokens!);
  expect(guessed.details.rejected_prediction_tokens).toBeLessThan(10);
  const metrics = await (await fetch(`${demo.url}/metrics`)).text();
  const total = /markbase_guessed_tokens_accepted_total\{model="demo"\} (\d+)/.exec(metrics)![1];
  expect(Number(total)).toBe(accepted + plain.details.accepted_prediction_tokens!);
});
