import type { LayerConfig } from '@markbase/loader';
import type { Device, DeviceBuffer, Vector } from '@markbase/metal-runtime';

/** Rope frequencies on a device: one vector per kind of layer. */
export interface RopeFrequencies {
  readonly vectors: readonly Vector<'K'>[];
  /** Index of a layer's vector in `vectors`. */
  indexOf(layerIndex: number): number;
  dispose(): void;
}

/**
 * Inverse frequency of pair i of a head with width K: theta^(-2i/K) for i < rotaryPairs, else 0, which leaves the pair
 * unchanged (docs/gemma4.md section 2.6). Computed in double precision.
 */
export function inverseFrequencies({ headDim, rope }: Pick<LayerConfig, 'headDim' | 'rope'>): Float32Array {
  return Float32Array.from({ length: headDim / 2 }, (_, pair) =>
    pair < rope.rotaryPairs ? rope.theta ** ((-2 * pair) / headDim) : 0,
  );
}

/** Uploads the frequencies that `layers` need. */
export function uploadRopeFrequencies(device: Device, layers: readonly LayerConfig[]): RopeFrequencies {
  const keys: string[] = [];
  const vectors: Vector<'K'>[] = [];
  const buffers: DeviceBuffer[] = [];
  const indices = layers.map((layer) => {
    const key = `${layer.headDim}/${layer.rope.theta}/${layer.rope.rotaryPairs}`;
    const known = keys.indexOf(key);
    if (known >= 0) return known;
    const values = inverseFrequencies(layer);
    const data = device.upload(new Uint8Array(values.buffer), `rope frequencies ${key}`);
    buffers.push(data);
    vectors.push({ length: values.length, dtype: 'F32', data });
    return keys.push(key) - 1;
  });
  return {
    vectors,
    indexOf: (layerIndex) => indices[layerIndex]!,
    dispose() {
      for (const buffer of buffers) buffer.dispose();
    },
  };
}
