import type { AffineParameters } from '../config/quantization-config.js';
import type { GroupChunk, TensorGroup } from '../safetensors/tensor-group.js';
import { quantizeAffineBytes } from './affine-codec.js';
import type { FloatDType } from './float-conversion.js';
import { channelLast, type MlxTensor } from './mlx-tensors.js';
import { rowChunks } from './row-source.js';

type MatrixTensor = Extract<MlxTensor, { kind: 'matrix' }>;

/** Codes, scales and biases of a matrix, computed in chunks while they are written. */
export function quantizedGroup(
  name: string,
  { shape, source, tensor }: MatrixTensor,
  { bits, groupSize }: AffineParameters,
): TensorGroup {
  const dtype = tensor.dtype as FloatDType;
  const leading = shape.slice(0, -1);
  const { columns } = source;
  const scales = { dtype, shape: [...leading, columns / groupSize] };
  return {
    tensors: [
      { name: `${name}.weight`, dtype: 'U32', shape: [...leading, (columns * bits) / 32] },
      { name: `${name}.scales`, ...scales },
      { name: `${name}.biases`, ...scales },
    ],
    async *chunks(): AsyncGenerator<GroupChunk> {
      for await (const bytes of rowChunks(source)) {
        const options = { bits, groupSize, scaleDtype: dtype };
        const parts = quantizeAffineBytes(bytes, dtype, bytes.length / source.rowBytes, columns, options);
        yield { index: 0, bytes: new Uint8Array(parts.weight.buffer) };
        yield { index: 1, bytes: parts.scales };
        yield { index: 2, bytes: parts.biases };
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
