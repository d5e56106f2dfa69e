import { expect, it } from 'vitest';
import { calculate } from './calculate.js';
import { runTool, toolDefinitions } from './demo-tools.js';

it.each([
  ['1927 - 18', 1909],
  ['(3 + 4) * 5', 35],
  ['2 + 3 * 4 - 6 / 2', 11],
  ['-(2 - 5) * -2', -6],
  ['10 / 4', 2.5],
  ['.5 × 8 ÷ 2', 2],
])('calculates %s', (expression, value) => {
  expect(calculate(expression)).toBe(value);
});

it.each(['', '2 +', '(1', '1 / 0', '2 ** 3', 'alert(1)', '1 2', '1'.repeat(2000)])(
  'refuses %s',
  (expression) => {
    expect(() => calculate(expression)).toThrow(RangeError);
  },
);

it('answers calls with JSON, including errors', () => {
  expect(JSON.parse(runTool('calculate', '{"expression": "6 * 7"}'))).toEqual({ result: 42 });
  const weather = runTool('get_weather', '{"city": "Paris"}');
  expect(JSON.parse(weather)).toMatchObject({ city: 'Paris', temperature: expect.any(Number) });
  expect(runTool('get_weather', '{"city": "Paris"}')).toBe(weather);
  for (const [name, args] of [
    ['calculate', '{}'],
    ['calculate', 'not json'],
    ['toString', '{}'],
  ] as const) {
    expect(JSON.parse(runTool(name, args))).toEqual({ error: expect.any(String) });
  }
});

it('declares both tools', () => {
  expect(toolDefinitions()).toMatchObject([
    { type: 'function', function: { name: 'get_weather' } },
    { type: 'function', function: { name: 'calculate' } },
  ]);
});
