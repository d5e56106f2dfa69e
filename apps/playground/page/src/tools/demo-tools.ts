import { calculate } from './calculate.js';
import { weatherIn } from './weather.js';

/** A tool that runs in this page. */
export interface PageTool {
  readonly description: string;
  /** JSON schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** @throws an error about the arguments, with a message for the model */
  run(args: Readonly<Record<string, unknown>>): unknown;
}

/** The demo tools by name, worded as in the demo model's training data. */
const DEMO_TOOLS: Readonly<Record<string, PageTool>> = {
  get_weather: {
    description: 'Get the weather in a city.',
    parameters: oneString('city', 'Name of the city.'),
    run: ({ city }) => weatherIn(text('city', city)),
  },
  calculate: {
    description: 'Calculate an arithmetic expression.',
    parameters: oneString('expression', 'The expression, for example 2 * 21.'),
    run: ({ expression }) => ({ result: calculate(text('expression', expression)) }),
  },
};

/** The demo tools in the format of the API. */
export function toolDefinitions(): unknown[] {
  return Object.entries(DEMO_TOOLS).map(([name, { description, parameters }]) => ({
    type: 'function',
    function: { name, description, parameters },
  }));
}

/** Runs a tool. Errors become results too, so that the model can report them. */
export function runTool(name: string, args: string): string {
  try {
    const tool = Object.hasOwn(DEMO_TOOLS, name) ? DEMO_TOOLS[name] : undefined;
    if (!tool) throw new RangeError(`there is no tool ${name}`);
    return JSON.stringify(tool.run(JSON.parse(args || '{}') as Record<string, unknown>));
  } catch (error) {
    return JSON.stringify({ error: error instanceof Error ? error.message : String(error) });
  }
}

function oneString(name: string, description: string): Readonly<Record<string, unknown>> {
  return { type: 'object', properties: { [name]: { type: 'string', description } }, required: [name] };
}

function text(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new TypeError(`${name} must be a string`);
}
