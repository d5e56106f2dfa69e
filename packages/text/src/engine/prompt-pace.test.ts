import { describe, expect, it } from 'vitest';
import { PromptPace } from './prompt-pace.js';

describe('PromptPace', () => {
  /** A device that takes 20 ms for a step of prompts, and a quarter of a millisecond for each row. */
  const timeOf = (rows: number) => 20 + rows / 4;

  it('finds the number of rows that leaves tokens in time, and uses all rows when no answer is running', () => {
    const pace = new PromptPace(60, 512);
    expect(pace.rows).toBe(512);
    const steps: number[] = [];
    for (let step = 0; step < 12; step++) {
      pace.prompted(pace.rows, timeOf(pace.rows));
      pace.decoded(10);
      steps.push(pace.rows);
    }
    // 50 ms are left of 60: 120 rows, from above.
    expect(steps[0]).toBe(207);
    expect(timeOf(steps.at(-1)!)).toBeLessThanOrEqual(50);
    expect(steps.at(-1)).toBeGreaterThan(115);
    pace.prompted(120, timeOf(120));
    expect(pace.rows).toBe(512);
  });

  it('goes on by a block even if that takes too long, and never by more than a step', () => {
    const pace = new PromptPace(5, 512);
    pace.prompted(512, 1000);
    pace.decoded(10);
    expect(pace.rows).toBe(32);
    const fast = new PromptPace(1000, 512);
    fast.prompted(8, 0);
    fast.decoded(1);
    expect(fast.rows).toBe(512);
    // A chunk smaller than a block stays what it is.
    const small = new PromptPace(1, 16);
    small.prompted(16, 100);
    small.decoded(1);
    expect(small.rows).toBe(16);
  });

  it('does nothing without a target', () => {
    const pace = new PromptPace(null, 512);
    pace.prompted(512, 1e6);
    pace.decoded(1);
    expect(pace.rows).toBe(512);
  });
});
