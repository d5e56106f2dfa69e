import { describe, expect, it } from 'vitest';
import { sequenceOf } from '../../test/engine-fixtures.js';
import { nextParts, type PrefillJob, prefillStep } from './prefill-step.js';

function job(
  slot: number,
  visibleEnd: number[],
  soft: (Float32Array | null)[] = visibleEnd.map(() => null),
): PrefillJob {
  const tokens = Int32Array.from(visibleEnd, (_, index) => 10 * slot + index);
  return {
    sequence: sequenceOf(slot),
    rows: {
      begin: 0,
      end: tokens.length,
      tokens,
      layerTokens: tokens,
      visibleEnd: Int32Array.from(visibleEnd),
      keys: [...tokens],
      soft,
    },
  };
}

const causal = (length: number) => Array.from({ length }, (_, index) => index);

/** The sizes of all steps of some jobs, as [begin, end) per job. */
function plan(jobs: PrefillJob[], maxRows: number): [number, number][][] {
  const steps: [number, number][][] = [];
  for (let parts = nextParts(jobs, maxRows); parts.length > 0; parts = nextParts(jobs, maxRows)) {
    steps.push(parts.map(({ begin, end }) => [begin, end]));
    for (const { job, end } of parts) job.sequence.add(job.rows, end);
  }
  return steps;
}

describe('nextParts', () => {
  it('cuts a prompt into chunks', () => {
    expect(plan([job(0, causal(10))], 4)).toEqual([[[0, 4]], [[4, 8]], [[8, 10]]]);
  });

  it('fills a step with the rows of several prompts', () => {
    expect(plan([job(0, causal(3)), job(1, causal(5)), job(2, causal(2))], 6)).toEqual([
      [
        [0, 3],
        [0, 3],
      ],
      [
        [3, 5],
        [0, 2],
      ],
    ]);
  });

  it('does not split an image whose rows see each other', () => {
    // Positions 3 to 6 are an image.
    expect(plan([job(0, [0, 1, 2, 6, 6, 6, 6, 7])], 5)).toEqual([[[0, 3]], [[3, 8]]]);
  });

  it('runs an image that is larger than a chunk in its own step', () => {
    expect(plan([job(0, [0, 4, 4, 4, 4, 5])], 3)).toEqual([[[0, 1]], [[1, 5]], [[5, 6]]]);
  });
});

describe('prefillStep', () => {
  it('combines rows of several sequences, with outputs where prompts end', () => {
    const jobs = [job(0, causal(2)), job(1, causal(5))];
    const step = prefillStep(nextParts(jobs, 4), 2);
    expect([...step.tokens]).toEqual([0, 1, 10, 11]);
    expect([...step.positions]).toEqual([0, 1, 0, 1]);
    expect([...step.slots]).toEqual([0, 0, 1, 1]);
    expect([...step.outputRows]).toEqual([1]);
    expect(step.sampling).toHaveLength(1);
    expect(step.softIndex).toBeUndefined();
  });

  it('numbers the soft tokens of a step from 0', () => {
    const soft = [null, Float32Array.of(1, 2), Float32Array.of(3, 4), null];
    const job0 = job(0, causal(4), soft);
    job0.sequence.add(job0.rows, 2);
    const step = prefillStep(nextParts([job0], 4), 2);
    expect([...step.softIndex!]).toEqual([0, -1]);
    expect(step.inputs!.softTokens).toEqual(Float32Array.of(3, 4));
  });
});
