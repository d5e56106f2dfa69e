import type { GroupChunk, TensorGroup } from '../safetensors/tensor-group.js';
import { quantizeAffineBytes } from './affine-codec.js';
import type { FloatDType } from './float-conversion.js';
import { quantizeFloatBytes } from './float-encoder.js';
import { channelLast, type MlxTensor } from './mlx-tensors.js';
import type { FloatQuantizationMode, QuantizationParameters } from './quantization-mode.js';
import { type RowSource, rowChunks } from './row-source.js';

/** A matrix [.., rows, columns] that is quantised. */
export interface MatrixRows {
  readonly shape: readonly number[];
  readonly source: RowSource;
  /** Of affine scales and biases: the dtype of the model. */
  readonly scaleDtype: FloatDType;
}

/** Codes, scales and, when affine, biases of a matrix, computed in chunks while they are written. */
export function quantizedGroup(
  name: string,
  matrix: MatrixRows,
  parameters: QuantizationParameters,
): TensorGroup {
  if (parameters.mode !== 'affine') return floatGroup(name, matrix, parameters.mode, parameters);
  const { bits, groupSize } = parameters;
  const { shape, source, scaleDtype } = matrix;
  const leading = shape.slice(0, -1);
  const { columns, dtype } = source;
  const scales = { dtype: scaleDtype, shape: [...leading, columns / groupSize] };
  return {
    tensors: [
      { name: `${name}.weight`, dtype: 'U32', shape: [...leading, (columns * bits) / 32] },
      { name: `${name}.scales`, ...scales },
      { name: `${name}.biases`, ...scales },
    ],
    async *chunks(): AsyncGenerator<GroupChunk> {
      for await (const bytes of rowChunks(source)) {
        const options = { bits, groupSize, scaleDtype };
        const parts = quantizeAffineBytes(bytes, dtype, bytes.length / source.rowBytes, columns, options);
        yield { index: 0, bytes: new Uint8Array(parts.weight.buffer) };
        yield { index: 1, bytes: parts.scales };
        yield { index: 2, bytes: parts.biases };
      }
    },
  };
}

function floatGroup(
  name: string,
  { shape, source }: MatrixRows,
  mode: FloatQuantizationMode,
  { bits, groupSize }: { readonly bits: number; readonly groupSize: number },
): TensorGroup {
  const leading = shape.slice(0, -1);
  const { columns, dtype } = source;
  return {
    tensors: [
      { name: `${name}.weight`, dtype: 'U32', shape: [...leading, (columns * bits) / 32] },
      { name: `${name}.scales`, dtype: 'U8', shape: [...leading, columns / groupSize] },
    ],
    async *chunks(): AsyncGenerator<GroupChunk> {
      for await (const bytes of rowChunks(source)) {
        const parts = quantizeFloatBytes(bytes, dtype, bytes.length / source.rowBytes, columns, mode);
        yield { index: 0, bytes: new Uint8Array(parts.weight.buffer) };
        yield { index: 1, bytes: parts.scales };
      }
    },
  };
}

/** A tensor that keeps its values. */
export function copiedGroup(name: string, mlx: Exclude<MlxTensor, { kind: 'dropped' }>): TensorGroup {
  const { tensor, shape } = mlx;
  return {
    tensors: [{ name, dtype: tensor.dtype, shape }],
    async *chunks(): AsyncGenerator<GroupChunk> {
      if (mlx.kind === 'conv2d') yield { index: 0, bytes: channelLast(await tensor.read(), tensor.shape) };
      else if (mlx.kind === 'copy') yield* indexed(tensor.chunks());
      else yield* indexed(rowChunks(mlx.source));
    },
  };
}

async function* indexed(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<GroupChunk> {
  for await (const bytes of chunks) yield { index: 0, bytes };
}
