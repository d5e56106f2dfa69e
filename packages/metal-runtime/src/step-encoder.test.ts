import { InvalidArgumentError, NonFiniteError } from '@markbase/core';
import { describe, expect, it } from 'vitest';
import type { StepInput } from './step.js';
import { StepEncoder } from './step-encoder.js';

const WINDOW = 4;
const CAPACITY = 6;

const encoder = new StepEncoder({
  label: 'test',
  maxRows: 8,
  maxOutputs: 2,
  inputs: [],
  outputs: [],
  samples: true,
  slotCount: 2,
  contextTokens: 100,
  slidingCaches: [{ capacityTokens: CAPACITY, windowTokens: WINDOW }],
  vocabulary: 10,
});

/** Rows at `positions` of slot 0. */
function step(positions: readonly number[], changes: Partial<StepInput> = {}): StepInput {
  const zeros = new Int32Array(positions.length);
  return {
    tokens: zeros,
    positions: Int32Array.from(positions),
    slots: zeros,
    outputRows: Int32Array.of(0),
    ...changes,
  };
}

describe('StepEncoder', () => {
  it('takes as many rows as a sliding cache holds beside the window', () => {
    // 6 positions hold 3 past keys and 3 rows.
    expect(() => encoder.encode(step([9, 10, 11]), [])).not.toThrow();
    // Nothing is overwritten before the cache is full.
    expect(() => encoder.encode(step([0, 1, 2, 3, 4, 5]), [])).not.toThrow();
  });

  it('refuses rows that would overwrite what the first of them sees', () => {
    expect(() => encoder.encode(step([9, 10, 11, 12]), [])).toThrow('4 rows from position 9 on');
    expect(() => encoder.encode(step([0, 1, 2, 3, 4, 5, 6]), [])).toThrow(InvalidArgumentError);
    const twoSlots = { slots: Int32Array.of(0, 1, 0, 1) };
    expect(() => encoder.encode(step([9, 30, 10, 31], twoSlots), [])).not.toThrow();
  });

  it('lets a row see no position that the step does not add', () => {
    expect(() => encoder.encode(step([9, 10], { visibleEnd: Int32Array.of(10, 10) }), [])).not.toThrow();
    expect(() => encoder.encode(step([9, 10], { visibleEnd: Int32Array.of(11, 10) }), [])).toThrow(
      'visibleEnd',
    );
  });

  it('refuses arrays of another type, which the addon would read past their end', () => {
    const tokens = new Uint8Array(1) as unknown as Int32Array;
    expect(() => encoder.encode(step([0], { tokens }), [])).toThrow('tokens: expected an Int32Array');
    const slots = [0] as unknown as Int32Array;
    expect(() => encoder.encode(step([0], { slots }), [])).toThrow('slots: expected an Int32Array');
  });

  it('never gives out the token of a row that has no finite logit', () => {
    const input = step([0]);
    const encoded = encoder.encode(input, []);
    encoded.sampled[0] = 3;
    expect(encoder.decode(encoded, input).tokens).toEqual(Int32Array.of(3));
    encoded.sampled[0] = -1;
    expect(() => encoder.decode(encoded, input)).toThrow(NonFiniteError);
  });
});
