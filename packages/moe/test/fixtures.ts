import { existsSync } from 'node:fs';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openSafetensors, type TensorSource, type TensorView, writeSafetensors } from '@markbase/loader';
import type { FeedForward } from '@markbase/metal-runtime';

/** Folder of the tiny reference checkpoints: the repository contains a selection; the variable names a folder with all of them. */
const ROOT = process.env.MARKBASE_FIXTURES ?? fileURLToPath(new URL('../../../fixtures', import.meta.url));

/** The checkpoints with a mixture of experts that exist here. */
export const MIXTURES = ['26b-a4b-hf', '26b-a4b-mlx-4bit', 'wide-26b-a4b-mlx-4bit'].filter((name) =>
  existsSync(join(ROOT, name, 'model.safetensors')),
);

/** Path of a reference checkpoint. */
export function fixture(name: string): string {
  return join(ROOT, name);
}

/** A dense branch that returns the stream itself, which leaves router and experts of a block. */
export const identity: FeedForward = { run: (_, h) => h };

/** Changes that turn a valid checkpoint into a broken one. */
export interface Damage {
  /** Values to replace in `text_config`. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** New name of a tensor; null = omitted. */
  rename?(name: string): string | null;
  /** Tensors to add, by the name of the tensor whose content they copy. */
  readonly copies?: Readonly<Record<string, string>>;
}

/** Writes a damaged copy of a reference checkpoint into an empty folder. */
export async function damagedCopy(name: string, folder: string, damage: Damage): Promise<string> {
  const source = fixture(name);
  const config = JSON.parse(await readFile(join(source, 'config.json'), 'utf8'));
  Object.assign(config.text_config ?? config, damage.config);
  await writeFile(join(folder, 'config.json'), JSON.stringify(config));
  const model = join(folder, 'model.safetensors');
  if (!damage.rename && !damage.copies) {
    await cp(join(source, 'model.safetensors'), model);
    return folder;
  }
  const { tensors } = await openSafetensors(join(source, 'model.safetensors'));
  const sources: TensorSource[] = [];
  const add = (name: string, tensor: TensorView) => {
    const { dtype, shape } = tensor;
    sources.push({ name, dtype, shape, chunks: () => tensor.chunks() });
  };
  for (const [key, tensor] of tensors) {
    const name = damage.rename ? damage.rename(key) : key;
    if (name !== null) add(name, tensor);
  }
  for (const [copy, original] of Object.entries(damage.copies ?? {})) add(copy, tensors.get(original)!);
  await writeSafetensors(model, sources);
  return folder;
}
