import type { DType } from '@markbase/core';
import type { QuantizationConfig } from '../config/quantization-config.js';
import type { SizedTensor } from '../estimate/tensor-bytes.js';
import type { QuantizationMode } from '../quantization/quantization-mode.js';

/** How the modules of one kind, such as `language_model.layers.#.self_attn.q_proj`, are stored. */
export interface ModuleStorage {
  /** Module path with `#` for every number. */
  readonly kind: string;
  /** null = plain. */
  readonly mode: QuantizationMode | null;
  /** null = plain. */
  readonly bits: number | null;
  /** Adjacent columns that share a scale; null if the modules are not quantised. */
  readonly groupSize: number | null;
  /** Of the scales, or of the weight when it is plain. */
  readonly dtype: DType;
  /** Number of modules that are stored like this. */
  readonly moduleCount: number;
  /** Bytes of all of them. */
  readonly sizeBytes: number;
}

/** Groups modules by kind and by how they are stored. Norm gains and other vectors are left out. */
export function moduleStorages(
  tensors: readonly SizedTensor[],
  quantization: QuantizationConfig | null,
): ModuleStorage[] {
  const byName = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  const found = new Map<string, ModuleStorage>();
  for (const tensor of tensors) {
    if (!tensor.name.endsWith('.weight') || tensor.shape.length < 2) continue;
    const module = tensor.name.slice(0, -'.weight'.length);
    const scales = byName.get(`${module}.scales`);
    const parameters = scales ? (quantization?.overrides.get(module) ?? quantization) : null;
    const storage = {
      kind: module.replace(/\.\d+(?=\.)/g, '.#'),
      mode: parameters ? parameters.mode : null,
      bits: parameters ? parameters.bits : null,
      groupSize: parameters ? parameters.groupSize : null,
      dtype: (scales ?? tensor).dtype,
    };
    const key = JSON.stringify(storage);
    const { moduleCount, sizeBytes } = found.get(key) ?? { moduleCount: 0, sizeBytes: 0 };
    const arrays = [tensor, scales, byName.get(`${module}.biases`)];
    found.set(key, {
      ...storage,
      moduleCount: moduleCount + 1,
      sizeBytes: arrays.reduce((sum, array) => sum + (array?.sizeBytes ?? 0), sizeBytes),
    });
  }
  return [...found.values()];
}
