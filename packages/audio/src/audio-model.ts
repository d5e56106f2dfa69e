import { createHash } from 'node:crypto';
import { types } from 'node:util';
import { checkOptionNames, DisposedError, type OptionNames } from '@markbase/core';
import {
  AUDIO_SAMPLE_RATE_HZ,
  audioTokens,
  type Checkpoint,
  MAX_AUDIO_SAMPLES,
  openCheckpoint,
} from '@markbase/loader';
import {
  type Device,
  type ProgramPlan,
  SoftTokenCache,
  type SoftTokens,
  UploadWatch,
} from '@markbase/metal-runtime';
import { AudioEncoderStream } from './audio-encoder-stream.js';
import { type AudioModelOptions, type AudioModelSettings, checkedSettings } from './audio-model-options.js';
import type { AudioSource } from './decode/audio-source.js';
import { checkSamples } from './decode/check-piece.js';
import type { EncodedSegment } from './encoded-segment.js';
import type { AudioFeatures } from './features/audio-features.js';
import { extractFeatures } from './features/extract-features.js';
import { type ClipRows, clipRows } from './model/clip-rows.js';
import { type EncoderConfig, encoderConfig } from './model/config.js';
import { type Encoder, TOWER_OUTPUT } from './model/encoder.js';
import { EncoderQueue } from './model/encoder-queue.js';
import { type LoadedEncoder, loadEncoder } from './model/weights.js';
import type { AudioSegment } from './segment/segment.js';
import { SEGMENT_OPTIONS } from './segment/segment-options.js';
import type { AudioStreamOptions } from './stream/audio-stream.js';
import { READING_OPTIONS, type ReadSegmentsOptions, readSegments } from './stream/read-segments.js';
import { segmentsWithin } from './stream/segments-within.js';

/** Segments whose features are computed while others run, so that neither the processor nor the device is idle. */
const SEGMENTS_AHEAD = 2;

/** How a sound is read, cut and encoded. */
export interface EncodeSoundOptions extends ReadSegmentsOptions {
  /**
   * Maximum number of soft tokens. A longer sound is refused before any of it is encoded: a token is 40 ms. Default: no limit.
   */
  readonly maxTokens?: number;
  /** Container format that somebody named, as a `MediaEncoder` of @markbase/text is told; the bytes decide. */
  readonly format?: string;
}

const ENCODE_OPTIONS: OptionNames<EncodeSoundOptions> = { ...READING_OPTIONS, maxTokens: true, format: true };
const STREAM_OPTIONS: OptionNames<AudioStreamOptions & { signal?: AbortSignal }> = {
  ...SEGMENT_OPTIONS,
  sampleRate: true,
  signal: true,
};

/** The audio part of a checkpoint: sound in, soft tokens for the decoder out. */
export class AudioModel implements Disposable {
  /** The checkpoint that the weights come from. */
  readonly checkpoint: Checkpoint;
  /** The device that the model runs on. */
  readonly device: Device;
  /** Sizes of the audio part. */
  readonly config: EncoderConfig;
  /** The options of `load`, with defaults filled in. */
  readonly settings: AudioModelSettings;
  readonly #loaded: LoadedEncoder;
  readonly #queue: EncoderQueue;
  readonly #cache: SoftTokenCache;
  #isDisposed = false;

  private constructor(
    checkpoint: Checkpoint,
    device: Device,
    config: EncoderConfig,
    settings: AudioModelSettings,
    loaded: LoadedEncoder,
  ) {
    this.checkpoint = checkpoint;
    this.device = device;
    this.config = config;
    this.settings = settings;
    this.#loaded = loaded;
    this.#queue = new EncoderQueue(device, loaded.encoder, { ...settings, maxRows: settings.maxBatchTokens });
    this.#cache = new SoftTokenCache(settings.cacheBytes);
  }

  /**
   * Maps the weights of the audio part and records its program; the rest of the checkpoint is not touched.
   *
   * @param source folder of a checkpoint, or a checkpoint
   * @throws UnsupportedModelError for models without an audio part (26B-A4B, 31B)
   * @throws WeightMapError when tensors are missing, wrong or superfluous
   * @throws OutOfMemoryError before anything is loaded, when the device copies weights and has too little memory
   * @throws InvalidArgumentError for options out of range
   */
  static async load(
    source: string | Checkpoint,
    device: Device,
    options: AudioModelOptions = {},
  ): Promise<AudioModel> {
    const { signal } = options;
    signal?.throwIfAborted();
    const checkpoint =
      typeof source === 'string' ? await openCheckpoint(source, { ...(signal && { signal }) }) : source;
    const config = encoderConfig(checkpoint);
    const settings = checkedSettings(checkpoint, options);
    const uploads = new UploadWatch(device, options);
    const { encoder, ...weights } = await loadEncoder(checkpoint, device, config, {
      ...settings,
      ...(signal && { signal }),
    });
    const dispose = () => {
      uploads.dispose();
      weights.dispose();
    };
    try {
      uploads.start();
      signal?.throwIfAborted();
      return new AudioModel(checkpoint, device, config, settings, { encoder, dispose });
    } catch (error) {
      dispose();
      throw error;
    }
  }

  /** The plan of the encoder's program. */
  get plan(): ProgramPlan {
    return this.#queue.program.plan;
  }

  /** Number of soft tokens for a number of samples at 16 kHz that go through the model in one piece. */
  countTokens(sampleCount: number): number {
    return audioTokens(sampleCount, this.checkpoint.config).softTokens;
  }

  /**
   * Soft tokens of samples that go through the model in one piece. Calls that are waiting at the same time share a step.
   *
   * @param samples mono, 16 kHz, in [-1, 1], at most 30 s
   * @throws InvalidArgumentError for audio that is too short for a soft token, or too long, and for NaN, infinity or samples far
   *   outside [-1, 1]; DisposedError
   */
  async encodeSamples(samples: Float32Array, options: { signal?: AbortSignal } = {}): Promise<SoftTokens> {
    checkSamples(samples);
    return this.#encodeChecked(samples, options);
  }

  /** Like `encodeSamples`, for samples of a segment, which were checked before they were resampled. */
  async #encodeChecked(samples: Float32Array, options: { signal?: AbortSignal }): Promise<SoftTokens> {
    this.#check('encode');
    options.signal?.throwIfAborted();
    const contentKey = this.#contentKey(samples);
    const known = this.#cache.get(contentKey);
    if (known) return known;
    const features = extractFeatures(samples, this.checkpoint.config);
    const softTokens = await this.#softTokens(features, contentKey, options.signal);
    this.#cache.add(softTokens);
    return softTokens;
  }

  /**
   * Soft tokens of a sound: decoded, mixed down, resampled, cut at quiet places if it is longer than `maxSeconds`, and
   * encoded. Up to 30 s become one segment.
   *
   * @param source a file, its bytes, or samples; a bare Float32Array is mono at 16 kHz
   * @throws UnsupportedMediaError, CorruptFileError, FileAccessError for what cannot be read as a sound;
   * InvalidArgumentError for sound that is too short for a soft token, or too long for `longer: 'refuse'`;
   * ContextLengthError for more than `maxTokens`; LimitExceededError for more than `maxTotalSeconds`; DisposedError; the signal's
   * reason
   */
  async encode(
    source: AudioSource | Float32Array,
    options: EncodeSoundOptions = {},
  ): Promise<EncodedSegment[]> {
    const encoded: EncodedSegment[] = [];
    for await (const segment of this.encodeEach(source, options)) encoded.push(segment);
    return encoded;
  }

  /**
   * Like `encode`, but yields each segment as soon as it is ready, while the next ones are read and prepared. Memory use is
   * that of a few segments, however long the sound is.
   */
  encodeEach(
    source: AudioSource | Float32Array,
    options: EncodeSoundOptions = {},
  ): AsyncGenerator<EncodedSegment> {
    this.#check('encode');
    checkOptionNames(options, ENCODE_OPTIONS);
    const sound = isSamples(source) ? { samples: source, sampleRate: AUDIO_SAMPLE_RATE_HZ } : source;
    const { maxTokens, format: _, ...reading } = options;
    if (maxTokens === undefined) return this.#encodeSegments(readSegments(sound, reading), reading);
    const samplesPerToken = MAX_AUDIO_SAMPLES / this.countTokens(MAX_AUDIO_SAMPLES);
    return this.#encodeSegments(segmentsWithin(sound, reading, { maxTokens, samplesPerToken }), reading);
  }

  /**
   * Takes sound in pieces, as from a microphone, and returns the segments that they complete: the same ones as `encode`
   * returns for the whole.
   *
   * @throws InvalidArgumentError when an option is out of range
   */
  stream(options: AudioStreamOptions & { signal?: AbortSignal } = {}): AudioEncoderStream {
    this.#check('stream');
    checkOptionNames(options, STREAM_OPTIONS);
    const { signal } = options;
    return new AudioEncoderStream(options, (segment) =>
      this.#encodeSegment(segment, { ...(signal && { signal }) }),
    );
  }

  async *#encodeSegments(
    segments: AsyncIterable<AudioSegment>,
    { signal }: { signal?: AbortSignal },
  ): AsyncGenerator<EncodedSegment> {
    const ahead: Promise<EncodedSegment>[] = [];
    for await (const segment of segments) {
      const encoded = this.#encodeSegment(segment, { ...(signal && { signal }) });
      // A failure surfaces where the promise is awaited; it is not an error that it is never awaited because another one
      // failed first.
      encoded.catch(() => {});
      ahead.push(encoded);
      if (ahead.length > SEGMENTS_AHEAD) yield await ahead.shift()!;
    }
    for (const encoded of ahead) yield await encoded;
  }

  /** Soft tokens of given features; nothing is cached. For tests and comparisons. */
  encodeFeatures(features: AudioFeatures, options: { signal?: AbortSignal } = {}): Promise<SoftTokens> {
    this.#check('encode');
    return this.#softTokens(features, this.#contentKey(features.values), options.signal);
  }

  /** The rows [T, U] of the tower before the projection to the text model, for comparisons; null for 12B. */
  async observeTower(features: AudioFeatures): Promise<Float32Array | null> {
    this.#check('observe');
    const { encoder } = this.#loaded;
    if (encoder.kind === 'frames') return null;
    return this.#queue.run(clipRows(features, encoder), { output: TOWER_OUTPUT });
  }

  /** Frees the weights and the program; running work fails. */
  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#queue.dispose();
    this.#loaded.dispose();
    this.#cache.clear();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  get #encoder(): Encoder {
    return this.#loaded.encoder;
  }

  async #encodeSegment(segment: AudioSegment, options: { signal?: AbortSignal }): Promise<EncodedSegment> {
    const { index, startSeconds, endSeconds, samples } = segment;
    return { index, startSeconds, endSeconds, softTokens: await this.#encodeChecked(samples, options) };
  }

  async #softTokens(
    features: AudioFeatures,
    contentKey: string,
    signal: AbortSignal | undefined,
  ): Promise<SoftTokens> {
    const clip = clipRows(features, this.#encoder);
    const values = await this.#run(clip, signal);
    return { kind: 'audio', rows: clip.rows, width: this.config.textWidth, values, contentKey };
  }

  /** Frames of 12B do not see each other, so those that exceed a step go into the next one. Rows of a tower stay together. */
  async #run(clip: ClipRows, signal: AbortSignal | undefined): Promise<Float32Array> {
    const { maxBatchTokens } = this.settings;
    if (this.#encoder.kind === 'tower' || clip.rows <= maxBatchTokens)
      return this.#queue.run(clip, { signal });
    const { samplesPerToken } = this.#encoder;
    const values = new Float32Array(clip.rows * this.config.textWidth);
    for (let row = 0; row < clip.rows; row += maxBatchTokens) {
      const rows = Math.min(maxBatchTokens, clip.rows - row);
      const features = clip.features.subarray(row * samplesPerToken, (row + rows) * samplesPerToken);
      const part = await this.#queue.run({ rows, features, mask: null }, { signal });
      values.set(part, row * this.config.textWidth);
    }
    return values;
  }

  /** Equal keys mean equal soft tokens: the samples or features, and how they were computed. */
  #contentKey(samples: Float32Array): string {
    const bytes = new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
    const { precision, quantizeOnLoad } = this.settings;
    const arithmetic = quantizeOnLoad === null ? precision : `${precision}-${quantizeOnLoad}bit`;
    return `audio/${arithmetic}/${createHash('sha256').update(bytes).digest('hex')}`;
  }

  #check(operation: string): void {
    if (this.#isDisposed) throw new DisposedError({ resource: 'audio model', operation });
  }
}

/** True for a Float32Array of any realm. */
function isSamples(source: AudioSource | Float32Array): source is Float32Array {
  return types.isFloat32Array(source);
}
