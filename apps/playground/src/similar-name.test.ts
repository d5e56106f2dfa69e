import { expect, it } from 'vitest';
import { similarName } from './similar-name.js';

const OPTIONS = [
  '--model',
  '--max-tokens',
  '--temperature',
  '--seed',
  '--json',
  '--json-object',
  '--context',
];

it.each([
  ['--modle', '--model'],
  ['--temp', '--temperature'],
  ['--tokens', '--max-tokens'],
  ['--jsn', '--json'],
  ['--json-objct', '--json-object'],
  ['--contxt', '--context'],
  ['--xyzzy', null],
  ['-', null],
])('takes %s for %s', (wrong, meant) => {
  expect(similarName(wrong, OPTIONS)).toBe(meant);
});
