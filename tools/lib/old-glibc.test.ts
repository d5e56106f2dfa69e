import { expect, it } from 'vitest';
import { readSymbols } from './old-glibc.mjs';

/** A line of `objdump -T`. */
const symbol = (version: string, name: string) =>
  `0000000000000000      DF *UND*\t0000000000000000 (${version}) ${name}`;

it('finds the newest version by its numbers, not by its letters', () => {
  const lines = [symbol('GLIBC_2.9', 'a'), symbol('GLIBC_2.28', 'b'), symbol('GLIBC_2.2.5', 'c')];
  expect(readSymbols(lines.join('\n'))).toEqual({ newest: '2.28', above: [] });
});

it('names the symbols above the floor, with their versions', () => {
  const lines = [symbol('GLIBC_2.29', 'exp'), symbol('GLIBC_2.36', 'arc4random'), symbol('GLIBC_2.17', 'a')];
  expect(readSymbols(lines.join('\n'))).toEqual({
    newest: '2.36',
    above: ['exp (2.29)', 'arc4random (2.36)'],
  });
});

it('reads default versions, which are printed without brackets, and no other libraries', () => {
  const lines = [
    '0000 g DF .text\t0000  GLIBC_2.30   f',
    symbol('GLIBCXX_3.4.30', 'g'),
    symbol('GCC_3.0', 'h'),
  ];
  expect(readSymbols(lines.join('\n'))).toEqual({ newest: '2.30', above: ['f (2.30)'] });
});
