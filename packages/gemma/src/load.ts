import { checkOptionNames, type OptionNames } from '@markbase/core';
import type { DownloadOptions } from '@markbase/loader';
import { type Device, type DeviceKind, openDevice } from '@markbase/metal-runtime';
import { mixtureOfExperts } from '@markbase/moe';
import { loadTextModel, type TextModelOptions } from '@markbase/text';
import { GemmaModel } from './gemma-model.js';
import { checkpointFolder } from './loading/checkpoint-folder.js';
import { type LoadProgress, progressLine } from './loading/progress-line.js';
import { MediaEncoders } from './media/media-encoders.js';

/** Options of `load`; all have defaults. */
export interface LoadOptions
  extends Omit<TextModelOptions, 'onProgress' | 'feedForward' | 'language' | 'fusions'>,
    Pick<DownloadOptions, 'revision' | 'cacheDir' | 'offline' | 'token' | 'endpoint'> {
  /**
   * Where the model runs: 'auto' (default) = the best device of this machine, a kind of device, or one that is already
   * open, which stays open when the model is disposed.
   */
  readonly device?: 'auto' | DeviceKind | Device;
  /** Threads of the CPU, 1 to 256; default: all cores. */
  readonly threads?: number;
  /** Called while files are downloaded and weights are copied to a GPU. Default: a line on a terminal; false = nothing. */
  readonly onProgress?: ((progress: LoadProgress) => void) | false;
}

const OPTIONS: OptionNames<LoadOptions> = {
  device: true,
  threads: true,
  onProgress: true,
  revision: true,
  cacheDir: true,
  offline: true,
  token: true,
  endpoint: true,
  precision: true,
  contextTokens: true,
  maxSequences: true,
  rememberedSequences: true,
  cacheBytes: true,
  savedPrefixes: true,
  interTokenMs: true,
  prefillChunk: true,
  adapters: true,
  assistant: true,
  speculation: true,
  checkFinite: true,
  suppressPlaceholders: true,
  signal: true,
};

/**
 * Loads a model: opens the device, finds or downloads the checkpoint, and maps its weights. Encoders of pictures and
 * sound are loaded when they are first needed.
 *
 * @param model folder of a checkpoint, or `org/name` on the Hugging Face hub
 * @throws DownloadError if the hub does not have the model, or cannot be reached and the cache does not have it either;
 *   the errors of `openCheckpoint`, `openDevice` and `TextModel.load`; the signal's reason when aborted
 */
export async function load(model: string, options: LoadOptions = {}): Promise<GemmaModel> {
  checkOptionNames(options, OPTIONS);
  const { device: wanted = 'auto', threads, onProgress = progressLine(), signal, ...others } = options;
  const { revision, cacheDir, offline, token, endpoint, ...textOptions } = others;
  const report = onProgress === false ? () => {} : onProgress;
  const folder = await checkpointFolder(model, {
    ...defined({ revision, cacheDir, offline, token, endpoint, signal }),
    onProgress: ({ doneBytes, totalBytes, file }) =>
      report({ stage: 'download', doneBytes, totalBytes, file }),
  });
  const device = typeof wanted === 'string' ? await openDevice(defined({ kind: wanted, threads })) : wanted;
  const ownDevice = device === wanted ? null : device;
  try {
    const text = await loadTextModel(folder, device, {
      ...textOptions,
      feedForward: mixtureOfExperts,
      ...(signal && { signal }),
      onProgress: ({ arrivedBytes, totalBytes }) =>
        report({ stage: 'upload', doneBytes: arrivedBytes, totalBytes, file: '' }),
    });
    const media = new MediaEncoders(text.checkpoint, device, text.settings);
    return new GemmaModel({ text, media, ownDevice });
  } catch (error) {
    ownDevice?.dispose();
    throw error;
  }
}

/** The same without fields that are undefined. */
function defined<Fields extends object>(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields;
}
