import { setMaxListeners } from 'node:events';
import { checkOptionNames, DisposedError, type OptionNames } from '@markbase/core';
import { type Checkpoint, imageTokens, openCheckpoint } from '@markbase/loader';
import { type Device, SoftTokenCache, type SoftTokens, UploadWatch } from '@markbase/metal-runtime';
import { EncodeQueue } from './engine/encode-queue.js';
import { Encoder, type PictureOutputs } from './engine/encoder.js';
import { type Picture, pictureOf } from './engine/picture.js';
import { TaskLimit } from './engine/task-limit.js';
import type { PatchLayout } from './image/index.js';
import { type ImageInput, type ImageLimits, patchLayout, prepareImage } from './image/index.js';
import { preloadSharp } from './image/load-sharp.js';
import { type VisionConfig, visionConfig } from './model/config.js';
import { SOFT_OUTPUT } from './model/record.js';
import { loadVision } from './model/weights.js';
import { readVideo, type VideoInput, type VideoOptions } from './video/index.js';
import {
  checkedSettings,
  type VisionModelOptions,
  type VisionModelSettings,
} from './vision-model-options.js';

/** Decoded pictures in memory at once: one is read while another is resized. */
const PREPARED_AT_ONCE = 2;
/** Pictures being read or waiting for a step at once: their patches are in memory. */
const UNDERWAY_AT_ONCE = 32;

/** How pictures are encoded. */
export interface EncodeOptions {
  /** Most soft tokens of a picture: 70, 140, 280, 560 or 1120; default: that of the checkpoint, usually 280. */
  readonly budget?: number;
  /** Limits of decoding that differ from `IMAGE_LIMITS`. */
  readonly limits?: Partial<ImageLimits>;
  /** Called with a sentence about damage that did not matter, such as a missing end marker. */
  readonly onWarning?: (message: string) => void;
  /** Aborts the encoding, which then throws the signal's reason. */
  readonly signal?: AbortSignal;
}

/** A picture with its own budget. */
export interface BudgetedImage {
  /** A file, encoded bytes or pixels. */
  readonly image: ImageInput;
  /** Maximum number of soft tokens: 70, 140, 280, 560 or 1120. */
  readonly budget: number;
}

/** How a video is encoded: `budget` is that of one frame, by default 70. */
export type EncodeVideoOptions = Omit<VideoOptions, 'layout'>;

const ENCODE_OPTIONS: OptionNames<EncodeOptions> = {
  budget: true,
  limits: true,
  onWarning: true,
  signal: true,
};
const VIDEO_OPTIONS: OptionNames<EncodeVideoOptions> = {
  ...ENCODE_OPTIONS,
  framesPerSecond: true,
  maxFrames: true,
  maxTokens: true,
  ffmpeg: true,
  onSampled: true,
};

/** A frame of a video as a text model takes it. */
export interface EncodedFrame {
  /** Time of the frame in the video. */
  readonly timestampSeconds: number;
  /** Its soft tokens [S, D]. */
  readonly softTokens: SoftTokens;
}

/**
 * The vision part of a Gemma 4 checkpoint on a device: pictures in, soft tokens out. It needs no text model: soft tokens
 * are embeddings themselves. Pictures of several callers share steps.
 */
export class VisionModel {
  /** The device that the model runs on. */
  readonly device: Device;
  /** Sizes of the vision part. */
  readonly config: VisionConfig;
  /** The options of `load`, with defaults filled in. */
  readonly settings: VisionModelSettings;
  /** Edges of patches and of the blocks that become one soft token. */
  readonly layout: PatchLayout;
  readonly #encoder: Encoder;
  readonly #cache: SoftTokenCache;
  readonly #queue: EncodeQueue;
  readonly #preparing = new TaskLimit(PREPARED_AT_ONCE);
  readonly #underway = new TaskLimit(UNDERWAY_AT_ONCE);
  readonly #release: () => void;
  #isDisposed = false;

  private constructor(parts: {
    device: Device;
    config: VisionConfig;
    settings: VisionModelSettings;
    encoder: Encoder;
    release: () => void;
  }) {
    const { device, config, settings, encoder } = parts;
    this.device = device;
    this.config = config;
    this.settings = settings;
    this.layout = patchLayout(config);
    this.#encoder = encoder;
    this.#release = parts.release;
    this.#cache = new SoftTokenCache(settings.cacheBytes);
    this.#queue = new EncodeQueue({
      maxPatches: encoder.commonPatches,
      cache: this.#cache,
      run: async (pictures, signal) => (await encoder.run(pictures, [SOFT_OUTPUT], signal))[SOFT_OUTPUT]!,
    });
  }

  /**
   * Maps the weights of the vision part, and loads what decodes pictures; nothing runs yet.
   *
   * @param source folder of a checkpoint, or a checkpoint
   * @throws UnsupportedModelError when the model takes no images
   * @throws WeightMapError when tensors are missing, wrong or superfluous
   * @throws OutOfMemoryError before anything is loaded, when the device copies weights and has too little memory
   * @throws InvalidArgumentError for options out of range
   */
  static async load(
    source: string | Checkpoint,
    device: Device,
    options: VisionModelOptions = {},
  ): Promise<VisionModel> {
    const { signal, fusions, checkFinite, profile } = options;
    signal?.throwIfAborted();
    const settings = checkedSettings(options);
    const checkpoint =
      typeof source === 'string' ? await openCheckpoint(source, { ...(signal && { signal }) }) : source;
    const config = visionConfig(checkpoint);
    await preloadSharp();
    const { quantizeOnLoad, precision } = settings;
    const uploads = new UploadWatch(device, options);
    const loaded = await loadVision(checkpoint, device, config, {
      quantizeOnLoad,
      ...(signal && { signal }),
    });
    const release = () => {
      uploads.dispose();
      loaded.dispose();
    };
    try {
      uploads.start();
      signal?.throwIfAborted();
      const encoder = new Encoder({
        device,
        config,
        model: loaded.model,
        precision,
        ...(fusions !== undefined && { fusions }),
        ...(checkFinite !== undefined && { checkFinite }),
        ...(profile !== undefined && { profile }),
      });
      return new VisionModel({ device, config, settings, encoder, release });
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Soft tokens of a picture of this size, without decoding it. @throws InvalidArgumentError for another budget */
  countTokens(width: number, height: number, budget: number = this.config.defaultSoftTokens): number {
    return imageTokens({ width, height }, budget, this.config).softTokens;
  }

  /** Bytes of soft tokens that are kept. */
  get cachedBytes(): number {
    return this.#cache.sizeBytes;
  }

  /**
   * Turns pictures into soft tokens [S, D], in the scale of the embedded tokens of the text model.
   *
   * @param image a file, encoded bytes or pixels; or several, each optionally with its own budget
   * @throws as `prepareImage`, before the model runs; NonFiniteError (`checkFinite`); DisposedError; the signal's reason
   */
  encode(image: ImageInput | BudgetedImage, options?: EncodeOptions): Promise<SoftTokens>;
  encode(images: readonly (ImageInput | BudgetedImage)[], options?: EncodeOptions): Promise<SoftTokens[]>;
  async encode(
    images: ImageInput | BudgetedImage | readonly (ImageInput | BudgetedImage)[],
    options: EncodeOptions = {},
  ): Promise<SoftTokens | SoftTokens[]> {
    this.#check('encode');
    checkOptionNames(options, ENCODE_OPTIONS);
    const list = isList(images) ? images : [images];
    // An unknown budget is refused before any file is opened.
    for (const image of list) this.countTokens(1, 1, this.#budgetOf(image, options));
    if (!isList(images)) return this.#encodeOne(images, options);
    return allOrNone(options.signal, images, (image, signal) =>
      this.#underway.run(() => this.#encodeOne(image, { ...options, signal })),
    );
  }

  /**
   * Turns the sampled frames of a video into soft tokens, each with its time (docs/gemma4.md section 3.6).
   *
   * @param video a folder of pictures, an animated GIF or WebP, or any container that the installed ffmpeg decodes
   * @throws as `readVideo`, and as `encode`
   */
  async encodeVideo(video: VideoInput, options: EncodeVideoOptions = {}): Promise<EncodedFrame[]> {
    this.#check('encodeVideo');
    checkOptionNames(options, VIDEO_OPTIONS);
    const frames = await readVideo(video, { ...options, layout: this.layout });
    return allOrNone(options.signal, frames, async ({ timestampSeconds, image }, signal) => {
      const picture = pictureOf(image.patches, this.config.kind);
      const softTokens = await this.#softTokens('video', image.contentKey, picture, signal);
      return { timestampSeconds, softTokens };
    });
  }

  /** Runs one step of pictures given as patches, and returns the named outputs; nothing is cached. */
  observe(
    pictures: readonly Picture[],
    outputs: readonly string[],
    signal?: AbortSignal,
  ): Promise<PictureOutputs> {
    this.#check('observe');
    return this.#encoder.run(pictures, outputs, signal);
  }

  /** Total milliseconds of each command so far; zeros unless loaded with `profile`. */
  profile(): { readonly label: string; readonly kernel: string; readonly milliseconds: number }[] {
    this.#check('profile');
    return this.#encoder.programs.flatMap((program) => program.profile());
  }

  /** Frees programs and mapped weights, and ends waiting calls with DisposedError. A second call does nothing. */
  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#queue.rejectAll(new DisposedError({ resource: 'vision model', operation: 'encode' }));
    this.#cache.clear();
    this.#encoder.dispose();
    this.#release();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  async #encodeOne(request: ImageInput | BudgetedImage, options: EncodeOptions): Promise<SoftTokens> {
    const image = isBudgeted(request) ? request.image : request;
    const budget = this.#budgetOf(request, options);
    const { signal, limits, onWarning } = options;
    const prepare = {
      budget,
      layout: this.layout,
      ...(limits && { limits }),
      ...(onWarning && { onWarning }),
      ...(signal && { signal }),
    };
    const { patches, contentKey } = await this.#preparing.run(() => prepareImage(image, prepare));
    return this.#softTokens('image', contentKey, pictureOf(patches, this.config.kind), signal);
  }

  #budgetOf(request: ImageInput | BudgetedImage, options: EncodeOptions): number {
    return isBudgeted(request) ? request.budget : (options.budget ?? this.config.defaultSoftTokens);
  }

  async #softTokens(
    kind: 'image' | 'video',
    pictureKey: string,
    picture: Picture,
    signal: AbortSignal | undefined,
  ): Promise<SoftTokens> {
    this.#check('encode');
    const contentKey = this.#contentKey(pictureKey);
    const values = await this.#queue.encode(contentKey, picture, signal);
    return { kind, rows: picture.softTokens, width: this.config.outputWidth, values, contentKey };
  }

  /** Equal keys mean equal soft tokens: the picture, and how they were computed. */
  #contentKey(pictureKey: string): string {
    const { precision, quantizeOnLoad } = this.settings;
    const arithmetic = quantizeOnLoad === null ? precision : `${precision}-${quantizeOnLoad}bit`;
    return `image/${arithmetic}/${pictureKey}`;
  }

  #check(operation: string): void {
    if (this.#isDisposed) throw new DisposedError({ resource: 'vision model', operation });
  }
}

/** Processes all items concurrently. One failure stops the others, since their results would be lost. */
async function allOrNone<Item, Result>(
  signal: AbortSignal | undefined,
  items: readonly Item[],
  work: (item: Item, signal: AbortSignal) => Promise<Result>,
): Promise<Result[]> {
  const controller = new AbortController();
  const common = signal ? AbortSignal.any([signal, controller.signal]) : controller.signal;
  // Every waiting item adds a listener, and Node would report more than ten as a leak.
  setMaxListeners(0, common);
  const running = items.map((item) => work(item, common));
  for (const one of running) one.catch(() => {});
  try {
    return await Promise.all(running);
  } catch (error) {
    controller.abort(error);
    throw error;
  }
}

function isList(
  images: ImageInput | BudgetedImage | readonly (ImageInput | BudgetedImage)[],
): images is readonly (ImageInput | BudgetedImage)[] {
  return Array.isArray(images);
}

function isBudgeted(request: ImageInput | BudgetedImage): request is BudgetedImage {
  return typeof request === 'object' && request !== null && 'image' in request;
}
