import type OpenAI from 'openai';

/** The two tools that the demo model was trained with. */
export const DEMO_TOOLS: OpenAI.Chat.Completions.ChatCompletionFunctionTool[] = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      description: 'Gets the weather in a city.',
      parameters: {
        type: 'object',
        properties: { city: { type: 'string', description: 'Name of the city.' } },
        required: ['city'],
      },
    },
  },
  {
    type: 'function',
    function: {
      name: 'calculate',
      description: 'Calculates the value of an expression.',
      parameters: {
        type: 'object',
        properties: { expression: { type: 'string', description: 'Sum or difference, such as 12 + 30.' } },
        required: ['expression'],
      },
    },
  },
];
