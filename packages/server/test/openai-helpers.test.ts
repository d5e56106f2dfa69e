import { zodResponseFormat } from 'openai/helpers/zod';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { DEMO_TOOLS } from './demo-tools.js';
import { serveDemo } from './serve-demo.js';

const demo = serveDemo();
const common = { model: 'demo', temperature: 0 };
const user = (content: string) => [{ role: 'user' as const, content }];

describe('helpers of the openai client', () => {
  it('run tools until the model answers', async () => {
    const runner = demo.client.chat.completions.runTools({
      ...common,
      messages: user('Is it cold in Valencia?'),
      tools: [
        {
          type: 'function',
          function: {
            name: 'get_weather',
            description: 'Gets the weather in a city.',
            parameters: DEMO_TOOLS[0]!.function.parameters!,
            parse: JSON.parse,
            function: ({ city }: { city: string }) => ({
              temperature: city === 'Valencia' ? 31 : 0,
              sky: 'sunny',
            }),
          },
        },
      ],
    });
    expect(await runner.finalContent()).toContain('31');
  });

  it('parse objects, and accept the parsed message in the next request', async () => {
    const format = zodResponseFormat(z.object({ name: z.string(), legs: z.number().int() }), 'animal');
    const first = await demo.client.chat.completions.parse({
      ...common,
      messages: user('I am Tessa.'),
      response_format: format,
    });
    const { message } = first.choices[0]!;
    expect(message.parsed).toEqual({ name: expect.any(String), legs: expect.any(Number) });
    const second = await demo.client.chat.completions.create({
      ...common,
      messages: [...user('I am Tessa.'), message, ...user('What is 31 + 90?')],
    });
    expect(second.choices[0]!.message.content).toContain('121');
  });

  it('assemble a stream', async () => {
    const stream = demo.client.chat.completions.stream({
      ...common,
      messages: user('What is 31 + 90?'),
      stream_options: { include_usage: true },
    });
    const completion = await stream.finalChatCompletion();
    expect(completion.choices[0]!.message.content).toBe('31 + 90 = 121');
    expect(completion.usage!.completion_tokens).toBeGreaterThan(3);
  });

  it('accept several system messages', async () => {
    const completion = await demo.client.chat.completions.create({
      ...common,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'developer', content: 'Reply only with JSON.' },
        ...user('What is 97 - 54?'),
      ],
    });
    expect(completion.usage!.prompt_tokens).toBeGreaterThan(20);
  });
});
