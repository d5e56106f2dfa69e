import type { DType } from '@markbase/core';
import type { QuantizationConfig, TensorInfo } from '@markbase/loader';

/** What is counted of a tensor; `name` may be canonical. */
export type CountedTensor = Pick<TensorInfo, 'name' | 'dtype' | 'shape' | 'range'>;

/** How the modules of one kind, such as `language_model.layers.#.self_attn.q_proj`, are stored. */
export interface ModuleStorage {
  /** Module path with `#` for every number. */
  readonly kind: string;
  /** null = plain. */
  readonly bits: number | null;
  readonly groupSize: number | null;
  /** Of the scales, or of the weight when it is plain. */
  readonly dtype: DType;
  readonly moduleCount: number;
  readonly sizeBytes: number;
}

const ARRAYS = /\.(weight|scales|biases|bias)$/;

/** Bytes by a key of each tensor, largest first. */
export function bytesBy(
  tensors: readonly CountedTensor[],
  key: (tensor: CountedTensor) => string,
): Record<string, number> {
  const sums = new Map<string, number>();
  for (const tensor of tensors) {
    sums.set(key(tensor), (sums.get(key(tensor)) ?? 0) + tensor.range.sizeBytes);
  }
  return Object.fromEntries([...sums].sort(([, a], [, b]) => b - a));
}

/** The part of a model that a tensor belongs to, such as `language_model.layers.mlp`. */
export function moduleGroup(name: string): string {
  const parts = name.replace(ARRAYS, '').split('.');
  if (/norm|layer_scalar/.test(parts.at(-1) ?? '')) return `${parts[0]} norms and scalars`;
  const depth = parts[0] === 'language_model' && parts[1] === 'layers' ? 4 : 2;
  return parts
    .slice(0, depth)
    .filter((part) => !/^\d+$/.test(part))
    .join('.');
}

/** Groups modules by kind and by how they are stored. Norm gains and other vectors are left out. */
export function moduleStorages(
  tensors: readonly CountedTensor[],
  quantization: QuantizationConfig | null,
): ModuleStorage[] {
  const byName = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  const found = new Map<string, ModuleStorage>();
  for (const tensor of tensors) {
    if (!tensor.name.endsWith('.weight') || tensor.shape.length < 2) continue;
    const module = tensor.name.replace(ARRAYS, '');
    const scales = byName.get(`${module}.scales`);
    const own = scales ? (quantization?.overrides.get(module) ?? quantization) : null;
    const parameters = own || null;
    const arrays = [tensor, scales, byName.get(`${module}.biases`)];
    const storage = {
      kind: module.replace(/\.\d+(?=\.)/g, '.#'),
      bits: parameters?.bits ?? null,
      groupSize: parameters?.groupSize ?? null,
      dtype: (scales ?? tensor).dtype,
    };
    const key = JSON.stringify(storage);
    const before = found.get(key);
    found.set(key, {
      ...storage,
      moduleCount: (before?.moduleCount ?? 0) + 1,
      sizeBytes:
        (before?.sizeBytes ?? 0) + arrays.reduce((sum, array) => sum + (array?.range.sizeBytes ?? 0), 0),
    });
  }
  return [...found.values()];
}
