import { readdir, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type Checkpoint, openCheckpoint } from '@markbase/loader';

/** What names of converted checkpoints end with, such as -4bit or -bf16. */
const FORMAT = /-(?:bf16|fp16|f16|f32|mlx|mxfp4|mxfp8|nvfp4|[2-8]bit)$/;

/**
 * The assistant of a model in the same folder as the model's, by the published names: `gemma-4-E2B-it-assistant` for
 * `gemma-4-E2B-it` and for its conversions such as `gemma-4-E2B-it-4bit`. Null if there is none for this model.
 */
export async function findAssistant(model: Checkpoint): Promise<Checkpoint | null> {
  const { config } = model;
  if (config.family === 'gemma4_assistant') return null;
  const directory = await realpath(model.directory).catch(() => model.directory);
  const wanted = plainName(basename(directory));
  const names = await readdir(dirname(directory)).catch(() => []);
  for (const name of names.sort()) {
    if (!/-assistant(?:-|$)/i.test(name) || plainName(name.replace(/-assistant/i, '')) !== wanted) continue;
    const assistant = await openCheckpoint(join(dirname(directory), name)).catch(() => null);
    if (assistant?.config.family !== 'gemma4_assistant') continue;
    if (assistant.config.backboneHiddenSize === config.text.hiddenSize) return assistant;
  }
  return null;
}

function plainName(name: string): string {
  let plain = name.toLowerCase();
  while (FORMAT.test(plain)) plain = plain.replace(FORMAT, '');
  return plain;
}
