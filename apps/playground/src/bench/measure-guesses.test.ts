import { expect, it } from 'vitest';
import { predictedSpeedUp } from './measure-guesses.js';

const COSTS = [
  { rows: 1, steps: 1 },
  { rows: 2, steps: 1.1 },
  { rows: 4, steps: 1.3 },
];

it('predicts the speed-up with the best number of guesses, on lines between measured rows', () => {
  expect(predictedSpeedUp(1, COSTS)).toEqual({ predicted: 4 / 1.3, predictedGuesses: 3 });
  expect(predictedSpeedUp(0.2, COSTS).predictedGuesses).toBe(1);
  const [one, two] = [1.6 / 1.1, 1.96 / 1.2];
  expect(two).toBeGreaterThan(one);
  expect(predictedSpeedUp(0.6, COSTS)).toEqual({
    predicted: expect.closeTo((1.96 + 0.216) / 1.3),
    predictedGuesses: 3,
  });
  expect(predictedSpeedUp(0, COSTS)).toEqual({ predicted: 1, predictedGuesses: 0 });
});
