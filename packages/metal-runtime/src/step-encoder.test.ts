import { InvalidArgumentError, NonFiniteError } from '@markbase/core';
import { describe, expect, it } from 'vitest';
import type { StepInput } from './step.js';
import { StepEncoder } from './step-encoder.js';

/** A sliding cache of one block holds 32 positions: 29 more than the past keys of the window. */
const WINDOW = 4;
const CAPACITY = 30;

const encoder = new StepEncoder({
  label: 'test',
  maxRows: 64,
  maxOutputs: 2,
  inputs: [],
  outputs: [],
  logitsWidth: 10,
  contextTokens: 100,
  caches: [
    { blockCount: 8, capacityTokens: 100, windowTokens: null },
    { blockCount: 2, capacityTokens: CAPACITY, windowTokens: WINDOW },
  ],
  vocabulary: 10,
  needs: new Set(['tokens', 'positions'] as const),
  hasSegments: false,
});

/** The limits of a tower: rows of images, no tokens. */
const TOWER = {
  label: 'tower',
  maxRows: 8,
  maxOutputs: 2,
  inputs: [],
  outputs: [],
  logitsWidth: 0,
  contextTokens: 2 ** 31,
  caches: [null, null],
  vocabulary: 2 ** 31,
  needs: new Set<never>(),
  hasSegments: false,
};
const tower = new StepEncoder(TOWER);

function rowsFrom(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, row) => first + row);
}

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
  it('takes as many rows as a sliding cache holds in addition to the window', () => {
    expect(() => encoder.encode(step(rowsFrom(9, 29)), [])).not.toThrow();
    // Nothing is overwritten before the cache is full.
    expect(() => encoder.encode(step(rowsFrom(0, 32)), [])).not.toThrow();
  });

  it('rejects rows that would overwrite positions that the first row sees', () => {
    expect(() => encoder.encode(step(rowsFrom(9, 30)), [])).toThrow('30 rows from position 9 on');
    expect(() => encoder.encode(step(rowsFrom(0, 33)), [])).toThrow(InvalidArgumentError);
    const twoSlots = { slots: Int32Array.of(0, 1, 0, 1) };
    expect(() => encoder.encode(step([9, 30, 10, 31], twoSlots), [])).not.toThrow();
  });

  it('gives each slot its share of the caches without tables', () => {
    const twoSlots = { slots: Int32Array.of(1, 0) };
    const { slots, tables } = encoder.encode(step([40, 33], twoSlots), []);
    // Full and sliding blocks of slot 1, then of slot 0; the sliding cache has one block per slot.
    expect([...tables]).toEqual([4, 1, 5, 1, 0, 0, 1, 0]);
    expect([...slots]).toEqual([0, 4]);
  });

  it('joins the tables of the slots in the step, up to their last positions', () => {
    const tables = [Int32Array.of(7, 1, 3, 0, 6, 6), Int32Array.of(2, 0)];
    const encoded = encoder.encode(step([31, 5], { slots: Int32Array.of(0, 1), tables }), []);
    expect([...encoded.tables]).toEqual([7, 1, 2, 0]);
    expect([...encoded.slots]).toEqual([0, 2]);
    // Rows that no ring could hold: each block has its own place.
    expect(() => encoder.encode(step(rowsFrom(0, 64), { tables }), [])).not.toThrow();
  });

  it('reads the parameters of a row once', () => {
    const reads: string[] = [];
    const params = new Proxy(
      { topLogprobs: 3, seed: 2 ** 33 + 5 },
      {
        get: (target, name) => {
          reads.push(String(name));
          return Reflect.get(target, name);
        },
      },
    );
    const { sampling } = encoder.encode(step([0], { outputRows: Int32Array.of(0), sampling: [params] }), []);
    expect(new Set(reads).size).toBe(reads.length);
    // Neutral, with the seed in two halves, three alternatives, no history, no bias and no mask.
    expect([...sampling]).toEqual([0, 1, 0, 1, 0, 0, 0, 5, 2, 0, 3, 0, 0, 0, 0, 2 ** 32 - 1]);
  });

  it('rejects tables that are too short or name blocks that do not exist', () => {
    const encode = (positions: number[], ...table: number[]) =>
      encoder.encode(step(positions, { tables: [Int32Array.from(table)] }), []);
    expect(() => encode([32], 0, 0)).toThrow('tables[0]: expected at least 4 numbers, received 2');
    expect(() => encode([0], 8, 0)).toThrow('tables[0]: expected blocks below 8, received 8');
    expect(() => encode([0], 0, 2)).toThrow('tables[0]: expected blocks below 2, received 2');
    expect(() => encode([0], -1, 0)).toThrow('blocks below 8');
    const others = { slots: Int32Array.of(1), tables: [Int32Array.of(0, 0)] };
    expect(() => encoder.encode(step([0], others), [])).toThrow('slots');
  });

  it('rejects rows that see positions not added by the step', () => {
    expect(() => encoder.encode(step([9, 10], { visibleEnd: Int32Array.of(10, 10) }), [])).not.toThrow();
    expect(() => encoder.encode(step([9, 10], { visibleEnd: Int32Array.of(11, 10) }), [])).toThrow(
      'visibleEnd',
    );
  });

  it('rejects arrays of another type, which the addon would read past their end', () => {
    const tokens = new Uint8Array(1) as unknown as Int32Array;
    expect(() => encoder.encode(step([0], { tokens }), [])).toThrow('tokens: expected an Int32Array');
    const slots = [0] as unknown as Int32Array;
    expect(() => encoder.encode(step([0], { slots }), [])).toThrow('slots: expected an Int32Array');
  });

  it('never returns a token for a row without a finite logit', () => {
    const encoded = encoder.encode(step([0]), []);
    encoded.sampled[0] = 3;
    expect(encoder.decode(encoded).tokens).toEqual(Int32Array.of(3));
    encoded.sampled[0] = -1;
    expect(() => encoder.decode(encoded)).toThrow(NonFiniteError);
  });

  it('derives the number of rows of a program without tokens from its other inputs', () => {
    expect(tower.encode({ rows: 3 }, [])).toMatchObject({
      tokens: new Int32Array(3),
      slots: new Int32Array(3),
    });
    expect(tower.encode({ positions: Int32Array.of(0, 1) }, []).tokens).toEqual(new Int32Array(2));
    expect(() => tower.encode({}, [])).toThrow('rows: expected 1 to 8 rows, received 0');
    expect(() => tower.encode({ rows: 9 }, [])).toThrow('rows: expected 1 to 8 rows, received 9');
    expect(() => tower.encode({ rows: 3, positions: Int32Array.of(0) }, [])).toThrow(
      'rows: expected 1, as in positions',
    );
  });

  it('requires the arrays that the program reads', () => {
    expect(() => encoder.encode({ tokens: Int32Array.of(1) }, [])).toThrow(
      'positions: expected an Int32Array',
    );
    expect(() => encoder.encode({ positions: Int32Array.of(1) }, [])).toThrow(
      'tokens: expected an Int32Array',
    );
  });
});

describe('StepEncoder with segments', () => {
  const segments = new StepEncoder({ ...TOWER, hasSegments: true });
  const encode = (positions: readonly number[], visibleEnd: readonly number[]) =>
    segments.encode({ positions: Int32Array.from(positions), visibleEnd: Int32Array.from(visibleEnd) }, []);

  it('takes adjacent segments', () => {
    expect(() => encode([0, 1, 2, 0, 0, 1], [2, 2, 2, 0, 1, 1])).not.toThrow();
  });

  it.each([
    ['a missing row', [0, 2], [2, 2]],
    ['a segment that extends beyond the step', [0, 1], [2, 2]],
    ['rows that disagree about the end', [0, 1, 2], [2, 1, 2]],
    ['a segment cut off by the next', [0, 1, 0, 1, 2], [2, 2, 2, 2, 2]],
    ['a start in the middle', [1, 2, 0], [2, 2, 0]],
  ])('rejects %s', (_, positions, visibleEnd) => {
    expect(() => encode(positions, visibleEnd)).toThrow(InvalidArgumentError);
  });
});
