import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { load, loadServedMedia } from '@markbase/gemma';
import type { Device } from '@markbase/metal-runtime';
import { createServer, type Server } from '@markbase/server';
import { generate, type MediaEncoder, type TextModel } from '@markbase/text';
import { repositoryOf } from '../models/repository-of.js';
import { warn } from '../progress.js';
import { transcriberFor } from '../serve/transcriber.js';
import type { HostOptions } from './host-options.js';
import { mediaSupport } from './media-support.js';
import type { LoadedModel, LoadProgress, LoadRequest } from './playground-types.js';

/** A model on a device, with its APIs. */
export interface RunningModel {
  readonly model: TextModel;
  readonly server: Server;
  readonly description: LoadedModel;
  /** Lets running answers finish, and frees everything. */
  stop(): Promise<void>;
}

/** How long running answers may continue when another model is loaded. */
const DRAIN_MS = 5000;

/**
 * Opens a device, loads a model with its encoders, and creates the APIs for it.
 *
 * @throws errors of the device, the loader and the model; the signal's reason when aborted
 */
export async function startModel(
  request: LoadRequest,
  options: HostOptions & {
    /** Default: the name of the folder. */
    readonly name?: string;
    readonly signal: AbortSignal;
    readonly onProgress: (progress: LoadProgress) => void;
  },
): Promise<RunningModel> {
  const { signal, onProgress } = options;
  const { precision, contextTokens, maxSequences } = request;
  const resources: { dispose(): void }[] = [];
  const release = () => {
    for (const resource of resources.splice(0).reverse()) resource.dispose();
  };
  try {
    onProgress({ stage: 'load', doneBytes: 0, totalBytes: 0, file: null });
    const loaded = await load(request.model, {
      device: request.device as Device['info']['kind'] | 'auto',
      threads: options.threads,
      precision,
      maxSequences,
      ...(contextTokens !== null && { contextTokens }),
      onProgress: ({ doneBytes, totalBytes, file }) =>
        onProgress({ stage: 'load', doneBytes, totalBytes, file: file || null }),
      signal,
    });
    resources.push(loaded);
    const { text: model } = loaded;
    const media = await loadServedMedia(loaded.media, signal, { onWarning: warn });
    onProgress({ stage: 'warm-up', doneBytes: 0, totalBytes: 0, file: null });
    await generate(model, { prompt: 'Hi', maxTokens: 2, signal });
    const id = options.name ?? (await readableName(model.checkpoint.directory));
    const server = createServer({
      model: {
        id,
        model,
        media: media.encoder,
        ...(media.audio && { transcribe: transcriberFor(model, media.audio, true) }),
      },
      apiKey: options.apiKey,
      allowedHosts: options.allowedHosts,
      allowedImageHosts: options.allowedImageHosts,
      limits: { ...options.limits, drainMs: DRAIN_MS },
    });
    const stop = async () => {
      await server.close();
      release();
    };
    return { model, server, description: describeModel(id, model, media.encoder), stop };
  } catch (error) {
    release();
    throw error;
  }
}

/** A folder named `model` is uninformative, and so is a commit in the cache: use the name of the package or repository. */
async function readableName(folder: string): Promise<string> {
  const repository = repositoryOf(folder);
  if (repository !== null) return repository.name;
  const parent = dirname(folder);
  const isPackage = await stat(join(parent, 'package.json')).then(
    () => true,
    () => false,
  );
  return isPackage ? basename(folder).replace(/^model/, basename(parent)) : basename(folder);
}

function describeModel(id: string, model: TextModel, encoder: MediaEncoder): LoadedModel {
  const { checkpoint, device, settings } = model;
  const { generation } = checkpoint;
  const { kind, name, isa, threads } = device.info;
  return {
    id,
    folder: checkpoint.directory,
    device: { kind, name, isa, threads },
    precision: settings.precision,
    contextTokens: settings.contextTokens,
    maxSequences: settings.maxSequences,
    media: mediaSupport(checkpoint.config, encoder),
    weightBytes: checkpoint.sizeBytes,
    cacheBytes: model.cacheBytes,
    defaults: {
      temperature: generation.temperature ?? null,
      topP: generation.topP ?? null,
      topK: generation.topK ?? null,
    },
  };
}
