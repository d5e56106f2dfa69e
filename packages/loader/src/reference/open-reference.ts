import { join } from 'node:path';
import { InvalidConfigError } from '@markbase/core';
import { openSafetensors } from '../safetensors/open-safetensors.js';

/** Reference outputs stored next to a checkpoint; every package compares its part with them. */
export interface Reference {
  /** True if the reference outputs contain this tensor. */
  has(name: string): boolean;
  /**
   * Reads a tensor as float32.
   *
   * @throws CorruptFileError if it is missing
   */
  floats(name: string): Promise<Float32Array>;
  /** Ids and the like; exact below 2^24. */
  integers(name: string): Promise<number[]>;
}

/** Opens `expected.safetensors` of a checkpoint folder. */
export async function openReference(directory: string): Promise<Reference> {
  const path = join(directory, 'expected.safetensors');
  const { tensors } = await openSafetensors(path);
  const floats = async (name: string): Promise<Float32Array> => {
    const tensor = tensors.get(name);
    if (!tensor) throw new InvalidConfigError({ path, key: name, expected: 'a tensor', received: undefined });
    return tensor.readFloat32();
  };
  return {
    has: (name) => tensors.has(name),
    floats,
    integers: async (name) => Array.from(await floats(name)),
  };
}
