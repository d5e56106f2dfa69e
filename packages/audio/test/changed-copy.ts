import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openSafetensors, type TensorSource, type TensorView, writeSafetensors } from '@markbase/loader';
import { fixture } from '../../../fixtures/locate.js';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';

/** Changes in a copy of a reference checkpoint. */
export interface Change {
  /** Fields of `audio_config`. */
  readonly config?: object;
  /** Replacement of a tensor; null = removed. Default: the tensor itself. */
  readonly tensor?: (tensor: TensorView) => TensorSource | null;
}

/** A tensor as it is. */
export function unchanged(tensor: TensorView): TensorSource {
  const { name, dtype, shape } = tensor;
  return { name, dtype, shape, chunks: () => tensor.chunks() };
}

/** Copies a reference checkpoint in MLX layout with changes for the duration of a test; returns its folder. */
export async function changedCopy(
  name: string,
  { config = {}, tensor = unchanged }: Change,
): Promise<string> {
  const folder = temporaryFolder();
  await cp(fixture(name), folder, { recursive: true });
  const path = join(folder, 'config.json');
  const json = JSON.parse(await readFile(path, 'utf8'));
  json.audio_config = { ...json.audio_config, ...config };
  await writeFile(path, JSON.stringify(json));
  const { tensors } = await openSafetensors(join(fixture(name), 'model.safetensors'));
  const kept = [...tensors.values()].flatMap((view) => tensor(view) ?? []);
  await writeSafetensors(join(folder, 'model.safetensors'), kept, { metadata: { format: 'mlx' } });
  return folder;
}
