import { expect, it } from 'vitest';
import { checkOptionNames, InvalidArgumentError } from './index.js';

const known = { maxTokens: true, temperature: true, topP: true } as const;

function refusal(options: object, settings?: Parameters<typeof checkOptionNames>[2]): InvalidArgumentError {
  try {
    checkOptionNames(options, known, settings);
  } catch (error) {
    return error as InvalidArgumentError;
  }
  expect.unreachable('nothing was refused');
}

it('accepts known names, whatever their values', () => {
  expect(() => checkOptionNames({ maxTokens: undefined, topP: 'x' }, known)).not.toThrow();
});

it.each([
  ['max_tokens', 'maxTokens'],
  ['MaxTokens', 'maxTokens'],
  ['temprature', 'temperature'],
  ['top-p', 'topP'],
])('suggests for %s %s', (name, meant) => {
  const error = refusal({ [name]: 5 });
  expect(error).toBeInstanceOf(InvalidArgumentError);
  expect(error.argument).toBe(name);
  expect(error.message).toBe(`${name}: expected no option of this name, received 5. Did you mean ${meant}?`);
});

it('knows the names of other interfaces', () => {
  const error = refusal({ n_predict: 5 }, { other: { n_predict: 'maxTokens' } });
  expect(error.message).toContain('Did you mean maxTokens?');
});

it('lists all names where none is near, and names the place', () => {
  const error = refusal({ threads: 2 }, { prefix: 'limits.' });
  expect(error.message).toBe('limits.threads: expected one of maxTokens, temperature, topP, received 2');
});

it('suggests nothing for names of properties that every object has', () => {
  expect(refusal({ toString: 1 }).message).toContain('expected one of');
});

it('refuses what is not an object', () => {
  expect(() => checkOptionNames('text' as unknown as object, known)).toThrow('options: expected an object');
});
