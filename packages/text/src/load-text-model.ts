import { openCheckpoint } from '@markbase/loader';
import type { Device } from '@markbase/metal-runtime';
import type { TextModelOptions } from './engine/text-model-options.js';
import { loadLanguage } from './language.js';
import { TextModel } from './text-model.js';

/**
 * Opens a checkpoint folder and loads its decoder and, at the same time, its tokenizer and chat template.
 *
 * @param directory folder with config.json and safetensors files
 * @throws the errors of `openCheckpoint`, `TextModel.load` and `loadLanguage`; the signal's reason when aborted
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
  // Its error is thrown below, unless loading the weights fails first.
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
