import { openCheckpoint } from '@markbase/loader';
import type { Device } from '@markbase/metal-runtime';
import type { TextModelOptions } from './engine/text-model-options.js';
import { loadLanguage } from './language.js';
import { TextModel } from './text-model.js';

/**
 * Opens a checkpoint folder and loads its decoder, its tokenizer and its chat template, the latter beside the weights.
 *
 * @param directory folder with config.json and safetensors files
 * @throws what `openCheckpoint`, `TextModel.load` and `loadLanguage` throw; the signal's reason when aborted
 */
export async function loadTextModel(
  directory: string,
  device: Device,
  options: TextModelOptions = {},
): Promise<TextModel> {
  const { signal } = options;
  const checkpoint = await openCheckpoint(directory, { ...(signal && { signal }) });
  const language =
    checkpoint.files.tokenizer === null ? undefined : loadLanguage(checkpoint, { ...(signal && { signal }) });
  // Its error is thrown below; when the weights fail first, theirs is the one that counts.
  language?.catch(() => {});
  const model = await TextModel.load(checkpoint, device, { ...options, ...(language && { language }) });
  try {
    await language;
    return model;
  } catch (error) {
    model.dispose();
    throw error;
  }
}
