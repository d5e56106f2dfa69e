import { type Family, floatsOperand } from '../../src/ops/node.js';
import { strideOf } from '../../src/recorder/graph.js';
import type { ConvKernel } from '../../src/weights.js';

/** Taps of a convolution in time and in frequency. */
export const CONV_TAPS = 3;

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

/** What the recorder knows of `conv2d` nodes, and their `conv2d` command. */
export const conv2d: Family<Conv2dNode> = {
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
};
