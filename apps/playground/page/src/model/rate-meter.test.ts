import { expect, it } from 'vitest';
import { RateMeter } from './rate-meter.js';

it('returns the rate of the last seconds, and restarts with another file', () => {
  const meter = new RateMeter();
  expect(meter.update(0, 0)).toBeNull();
  expect(meter.update(1000, 1000)).toBe(1000);
  expect(meter.update(9000, 2000)).toBe(4500);
  expect(meter.update(9000, 5000)).toBe(0);
  expect(meter.update(10, 6000)).toBeNull();
  expect(meter.update(110, 6100)).toBe(1000);
});
