import { InvalidArgumentError, ShapeMismatchError } from '@markbase/core';
import type { Axis } from '../../src/axes.js';
import { type Family, floatsOperand } from '../../src/recorder/family.js';
import { strideOf } from '../../src/recorder/values.js';
import type { Value } from '../../src/value.js';
import type { ConvKernel } from '../../src/weights.js';

/** Taps of a convolution in time and in frequency. */
const CONV_TAPS = 3;

/** A 3 × 3 convolution of stride 2 over time steps and frequencies of masked rows. */
export interface Conv2dNode {
  readonly kind: 'conv2d';
  readonly label: string;
  readonly x: number;
  readonly mask: number;
  readonly kernel: ConvKernel;
  /** Time steps in a row of x. */
  readonly times: number;
  readonly frequencies: number;
  readonly y: number;
}

/** What records `conv2d` nodes. */
export interface Conv2dOps {
  /**
   * `[T, C]`: a 3 × 3 convolution over time and frequency with stride 2 and one of padding. A row of x is `times` steps
   * of [frequencies, In channels], a row of the result times / 2 steps of [frequencies / 2 rounded up, Out channels].
   * The first step of a row follows the last one of the previous row, except at position 0. `mask` [T, times · n] is 0
   * at steps that count as zeros; its column i · n applies to step i.
   */
  conv2d<A extends Axis>(
    x: Value<'T', A>,
    kernel: ConvKernel,
    options: { times: number; mask: Value<'T', Axis> },
  ): Value<'T', 'C'>;
}

/** What the recorder knows of `conv2d` nodes, and their `conv2d` command. */
export const conv2d: Family<Conv2dNode, Conv2dOps> = {
  needs: ['positions'],
  reads: (node) => [node.x, node.mask],
  writes: (node) => [node.y],
  encode: (node, graph) => {
    const { inChannels, outChannels, data } = node.kernel;
    return {
      family: 'conv2d',
      attributes: {
        times: node.times,
        frequencies: node.frequencies,
        inChannels,
        outChannels,
        xStride: strideOf(graph, node.x),
        maskStride: strideOf(graph, node.mask),
        maskStep: graph.values[node.mask]!.width / node.times,
        yStride: strideOf(graph, node.y),
      },
      operands: [
        { value: node.x },
        { value: node.mask },
        floatsOperand('kernel', data, CONV_TAPS * CONV_TAPS * inChannels * outChannels),
        { value: node.y, isOutput: true },
      ],
      weightBytes: data.sizeBytes,
    };
  },
  operations: (recording) => ({
    conv2d(x, kernel, { times, mask }) {
      if (!Number.isInteger(times) || times < 2 || times % 2 !== 0) {
        throw new InvalidArgumentError({
          argument: 'conv2d: times',
          expected: 'an even number of time steps',
          received: times,
        });
      }
      const stepWidth = recording.headWidth('conv2d', x, times);
      if (stepWidth % kernel.inChannels !== 0) {
        throw new ShapeMismatchError({
          operation: 'conv2d',
          argument: 'x',
          expected: `[T, ${times} steps of frequencies · ${kernel.inChannels} channels]`,
          received: `[T, ${x.width}]`,
        });
      }
      recording.headWidth('conv2d', mask, times);
      const frequencies = stepWidth / kernel.inChannels;
      const pad = (CONV_TAPS - 1) / 2;
      const outFrequencies = Math.floor((frequencies + 2 * pad - CONV_TAPS) / 2) + 1;
      const width = (times / 2) * outFrequencies * kernel.outChannels;
      return recording.result('T', width, 'conv2d', (y, label): Conv2dNode => {
        return { kind: 'conv2d', label, x: x.id, mask: mask.id, kernel, times, frequencies, y };
      });
    },
  }),
};
