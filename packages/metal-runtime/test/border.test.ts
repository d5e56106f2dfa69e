import { InvalidArgumentError } from '@markbase/core';
import { afterAll, describe, expect, it } from 'vitest';
import {
  callNative,
  type NativeCommand,
  type NativeMerge,
  type NativeOperand,
  nativeAddon,
} from '../src/native.js';

// The binding repeats the checks of TypeScript: a command that kernels cannot run is an error.

const device = nativeAddon().openDevice({ kind: 'cpu', threads: 1, isa: '' });
afterAll(() => device.dispose());

const operand: NativeOperand = { arenaOffset: 0, sizeBytes: 64, isOutput: false };
const operands = (count: number) => Array.from({ length: count }, () => operand);

function create(
  { family, attributes, operands: given }: Omit<NativeCommand, 'label'>,
  merges: NativeMerge[] = [],
) {
  const commands = [{ family, label: 'layer 0 / it', attributes, operands: given }];
  const program = {
    label: 'test',
    maxRows: 1,
    maxOutputs: 1,
    arenaBytes: 64,
    checkFinite: false,
    measuresTime: false,
  };
  return callNative(() =>
    device.createProgram({ ...program, commands, merges, inputs: [], outputs: [], sampler: null }),
  );
}

const rope = { rowSet: 0, heads: 2, width: 4, xStride: 8, yStride: 8, axes: 1 };
const attention = {
  rowSet: 0,
  heads: 4,
  kvHeads: 2,
  width: 8,
  qStride: 32,
  kStride: 0,
  vStride: 0,
  outStride: 32,
  capacity: 8,
  cacheKind: 0,
  window: 0,
  cacheType: 0,
  hasPrepare: 0,
  hasKv: 0,
  gainType: 0,
  eps: 0,
  isFast: 0,
  hasFewRows: 1,
};
const embed = {
  width: 64,
  vocabulary: 8,
  format: 3,
  bits: 4,
  group: 64,
  scaleType: 0,
  isLayerTable: 0,
  hasSoft: 0,
  scale: 1,
};

describe('commands at the native binding', () => {
  it('form a program', () => {
    create({ family: 'rope', attributes: rope, operands: operands(3) }).dispose();
    create({ family: 'attention', attributes: attention, operands: operands(9) }).dispose();
    create({ family: 'embed', attributes: embed, operands: operands(5) }).dispose();
  });

  it.each([
    ['an unknown family', { family: 'warp', attributes: rope, operands: operands(3) }, 'not warp'],
    [
      'an unknown attribute',
      { family: 'rope', attributes: { ...rope, pitch: 1 }, operands: operands(3) },
      'pitch',
    ],
    ['too few operands', { family: 'rope', attributes: rope, operands: operands(2) }, '3 operands'],
    [
      'rows of an unknown set',
      { family: 'rope', attributes: { ...rope, rowSet: 2 }, operands: operands(3) },
      'rowSet',
    ],
    ['a fraction', { family: 'rope', attributes: { ...rope, width: 4.5 }, operands: operands(3) }, 'width'],
    [
      'a number below 0',
      { family: 'rope', attributes: { ...rope, width: -4 }, operands: operands(3) },
      'width',
    ],
    ['a NaN', { family: 'rope', attributes: { ...rope, width: Number.NaN }, operands: operands(3) }, 'width'],
    ['a divisor of 0', { family: 'rope', attributes: { ...rope, axes: 0 }, operands: operands(3) }, 'axes'],
    [
      'no key/value heads',
      { family: 'attention', attributes: { ...attention, kvHeads: 0 }, operands: operands(9) },
      'kvHeads',
    ],
    [
      'query heads that do not divide evenly',
      { family: 'attention', attributes: { ...attention, kvHeads: 3 }, operands: operands(9) },
      'a multiple of kvHeads',
    ],
    [
      'codes without a group',
      { family: 'embed', attributes: { ...embed, group: 0 }, operands: operands(5) },
      'a group of more than 0',
    ],
    [
      'small floats in other groups',
      { family: 'embed', attributes: { ...embed, format: 6, group: 32 }, operands: operands(5) },
      'the group of its definition',
    ],
    [
      'an unknown format',
      { family: 'embed', attributes: { ...embed, format: 7, group: 32 }, operands: operands(5) },
      '0 to 6',
    ],
    ['four weights', { family: 'linear', attributes: linearOf(4), operands: operands(22) }, '1 to 3 weights'],
    ['no weight', { family: 'linear', attributes: linearOf(0), operands: operands(6) }, '1 to 3 weights'],
    [
      'a weight without operands',
      { family: 'linear', attributes: linearOf(2), operands: operands(10) },
      '14 operands',
    ],
  ])('are rejected with %s', (_, command, message) => {
    expect(() => create(command)).toThrow(InvalidArgumentError);
    expect(() => create(command)).toThrow(message);
  });

  it('are rejected if any attribute is missing', () => {
    for (const name of Object.keys(attention)) {
      const { [name]: _, ...attributes } = attention as Record<string, number>;
      expect(() => create({ family: 'attention', attributes, operands: operands(9) })).toThrow(name);
    }
  });

  it('allow merges of existing commands, each in at most one', () => {
    const command = { family: 'rope', attributes: rope, operands: operands(3) };
    const merge = { name: 'unknown', first: 0, count: 1 };
    create(command, [merge]).dispose();
    for (const wrong of [
      { ...merge, count: 2 },
      { ...merge, count: 0 },
      { ...merge, first: 1 },
      { ...merge, first: 2 ** 40 },
    ]) {
      expect(() => create(command, [wrong])).toThrow(/merge unknown/);
    }
    expect(() => create(command, [merge, merge])).toThrow(InvalidArgumentError);
  });
});

function linearOf(weights: number): Record<string, number> {
  const fields = {
    ...{
      rowSet: 0,
      gathers: 0,
      in: 4,
      weights,
      isFast: 0,
      hasFewRows: 1,
      xStride: 4,
      hasResidual: 0,
      residualStride: 0,
    },
    ...{ hStride: 0, residualGainType: 0, hasNorm: 0, normGainType: 0, epilogue: 0, operandStride: 0 },
    ...{ eps: 0, residualScale: 1, cap: 0 },
  };
  const weight = {
    ...{ out: 4, format: 0, bits: 0, group: 0, scaleType: 0, yStride: 4, hasClip: 0 },
    ...{ inputLow: 0, inputHigh: 0, outputLow: 0, outputHigh: 0 },
  };
  const own = Array.from({ length: weights }, (_, i) =>
    Object.entries(weight).map(([name, value]) => [`weight${i}.${name}`, value] as const),
  );
  return { ...fields, ...Object.fromEntries(own.flat()) };
}
