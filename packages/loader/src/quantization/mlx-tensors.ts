import { WeightMapError } from '@markbase/core';
import { isDeadWeight, isSharedKeyValue } from '../checkpoint/weight-names.js';
import type { ModelConfig } from '../config/model-config.js';
import type { TensorView } from '../safetensors/tensor-view.js';
import { allRows, expertHalf, type RowSource } from './row-source.js';

/** One tensor of the MLX layout, and how it is made from a tensor of the source. */
export type MlxTensor =
  | { readonly kind: 'dropped'; readonly name: string }
  /** A linear, an embedding or the experts of a layer: can be quantised. */
  | {
      readonly kind: 'matrix';
      /** Canonical module path. */
      readonly module: string;
      readonly tensor: TensorView;
      readonly shape: readonly number[];
      readonly source: RowSource;
    }
  /** Copied byte for byte, possibly with another shape. */
  | {
      readonly kind: 'copy';
      readonly name: string;
      readonly tensor: TensorView;
      readonly shape: readonly number[];
    }
  /** A 2-d convolution [out, in, h, w] that becomes [out, h, w, in]. */
  | {
      readonly kind: 'conv2d';
      readonly name: string;
      readonly tensor: TensorView;
      readonly shape: readonly number[];
    };

const FUSED_EXPERTS = /^(.*\.experts)\.(gate_up_proj|down_proj)(?:\.weight)?$/;

/** Says what becomes of a tensor of the source, by its canonical name, in the MLX layout. */
export function toMlxTensors(name: string, tensor: TensorView, config: ModelConfig): MlxTensor[] {
  const { shape } = tensor;
  if (isDeadWeight(name, config.text.tieWordEmbeddings) || isSharedKeyValue(name, config.text)) {
    return [{ kind: 'dropped', name }];
  }
  const experts = FUSED_EXPERTS.exec(name);
  if (experts !== null) return splitExperts(`${experts[1]}.switch_glu`, experts[2]!, tensor);
  if (shape.length === 4 && name.endsWith('.conv.weight')) return [conv2d(name, tensor, config)];
  if (shape.length === 3 && name.endsWith('.depthwise_conv1d.weight')) {
    // [C, 1, k] and [C, k, 1] have the same bytes.
    return [{ kind: 'copy', name, tensor, shape: [shape[0]!, shape[1]! * shape[2]!, 1] }];
  }
  const isMatrix = name.endsWith('.weight') && (shape.length === 2 || name.includes('.experts.'));
  if (!isMatrix) return [{ kind: 'copy', name, tensor, shape }];
  return [
    { kind: 'matrix', module: name.slice(0, -'.weight'.length), tensor, shape, source: allRows(tensor) },
  ];
}

function splitExperts(module: string, part: string, tensor: TensorView): MlxTensor[] {
  const [experts = 0, rows = 0, columns = 0] = tensor.shape;
  const isFused = part === 'gate_up_proj';
  if (tensor.shape.length !== 3 || (isFused && rows % 2 !== 0)) {
    throw new WeightMapError({
      mismatched: [`${tensor.name} is [${tensor.shape.join(', ')}], expected [experts, rows, columns]`],
    });
  }
  if (!isFused) {
    return [
      { kind: 'matrix', module: `${module}.down_proj`, tensor, shape: tensor.shape, source: allRows(tensor) },
    ];
  }
  const shape = [experts, rows / 2, columns];
  return [
    { kind: 'matrix', module: `${module}.gate_proj`, tensor, shape, source: expertHalf(tensor, 0) },
    { kind: 'matrix', module: `${module}.up_proj`, tensor, shape, source: expertHalf(tensor, 1) },
  ];
}

function conv2d(name: string, tensor: TensorView, config: ModelConfig): MlxTensor {
  const [out = 0, second = 0, third = 0, last = 0] = tensor.shape;
  const isUnified = config.family !== 'gemma4';
  const inner = isUnified ? undefined : config.audio?.subsamplingChannels[0];
  const channels = name.includes('.layer0.') ? 1 : inner;
  // Some files that call themselves Hugging Face are already channel-last.
  const isChannelLast = last === channels && second !== channels;
  if (isChannelLast) return { kind: 'copy', name, tensor, shape: tensor.shape };
  return { kind: 'conv2d', name, tensor, shape: [out, third, last, second] };
}

/** Moves the channel axis of [out, in, h, w] to the end. */
export function channelLast(bytes: Uint8Array, shape: readonly number[]): Uint8Array {
  const [out = 0, channels = 0, height = 0, width = 0] = shape;
  const area = height * width;
  const elementBytes = bytes.length / (out * channels * area);
  const moved = new Uint8Array(bytes.length);
  for (let o = 0; o < out; o++) {
    for (let c = 0; c < channels; c++) {
      for (let p = 0; p < area; p++) {
        const from = ((o * channels + c) * area + p) * elementBytes;
        const to = ((o * area + p) * channels + c) * elementBytes;
        for (let b = 0; b < elementBytes; b++) moved[to + b] = bytes[from + b]!;
      }
    }
  }
  return moved;
}
