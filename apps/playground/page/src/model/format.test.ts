import { expect, it } from 'vitest';
import { formatBytes, formatCount, formatDuration } from './format.js';

it('formats numbers for display', () => {
  expect([0, 999, 1000, 12_345, 999_999, 1.5e9, -2e6].map(formatBytes)).toEqual([
    '0 B',
    '999 B',
    '1.00 kB',
    '12.3 kB',
    '1.00 MB',
    '1.50 GB',
    '-2.00 MB',
  ]);
  expect([3.4, 999.6, 2100, 59_960, 65_000].map(formatDuration)).toEqual([
    '3 ms',
    '1.0 s',
    '2.1 s',
    '1:00 min',
    '1:05 min',
  ]);
  expect([formatCount(1, 'token'), formatCount(2048, 'token')]).toEqual(['1 token', '2,048 tokens']);
});
