import {
  type Checkpoint,
  compare,
  encoderSection,
  HIGH_TOLERANCE,
  judgedSection,
  openCheckpoint,
  openReference,
  type Reference,
  type VerifySection,
} from '@markbase/loader';
import type { Device, SoftTokens } from '@markbase/metal-runtime';
import { AudioModel } from '../audio-model.js';
import type { AudioModelOptions } from '../audio-model-options.js';
import type { AudioFeatures } from '../features/audio-features.js';
import { extractFeatures } from '../features/extract-features.js';

/** Options of `verifyAudio`. */
export interface VerifyAudioOptions extends Pick<AudioModelOptions, 'quantizeOnLoad' | 'fusions' | 'signal'> {
  /** Default 'high'. */
  readonly precision?: 'high' | 'fast';
}

/** What `verifyAudio` found. */
export interface AudioVerification {
  /** What was compared, in the order of computation. */
  readonly sections: readonly VerifySection[];
  /** This engine's soft tokens for the reference's sound, for the comparison of the whole model. */
  readonly softTokens: SoftTokens;
}

/**
 * Compares the audio part of a checkpoint with the reference outputs next to it (`expected.safetensors`): features, the
 * tower's rows, soft tokens from the reference's features, and soft tokens from its sound. In `high` within 1e-4 relative
 * rms; in `fast`, or quantised on load, the median soft token within 5e-2.
 *
 * @param source folder of a checkpoint, or a checkpoint
 * @returns null when the reference has no sound
 */
export async function verifyAudio(
  source: string | Checkpoint,
  device: Device,
  options: VerifyAudioOptions = {},
): Promise<AudioVerification | null> {
  const { precision = 'high', signal } = options;
  const checkpoint =
    typeof source === 'string' ? await openCheckpoint(source, { ...(signal && { signal }) }) : source;
  const reference = await openReference(checkpoint.directory);
  if (!reference.has('audio.waveform')) return null;
  const loadOptions = { ...options, precision, checkFinite: precision === 'fast', cacheBytes: 0 };
  using model = await AudioModel.load(checkpoint, device, loadOptions);
  return await compareAll(model, reference, precision === 'high' && options.quantizeOnLoad === undefined);
}

async function compareAll(
  model: AudioModel,
  reference: Reference,
  isExact: boolean,
): Promise<AudioVerification> {
  const waveform = await reference.floats('audio.waveform');
  const expected = await reference.floats('audio.soft_tokens');
  const given = await referenceFeatures(model, reference);
  const made = extractFeatures(waveform, model.checkpoint.config);
  const judge = (name: string, actual: Float32Array, wanted: Float32Array, width: number): VerifySection =>
    encoderSection(name, actual, wanted, { width, isExact });
  const fromFeatures = await model.encodeFeatures(given);
  const softTokens = await model.encodeSamples(waveform);
  const { textWidth } = model.config;
  const sections = [
    judgedSection('audio.input_features', compare(validValues(made), validValues(given)), HIGH_TOLERANCE),
    judge('audio.soft_tokens, on given features', fromFeatures.values, expected, textWidth),
    judge('audio.soft_tokens', softTokens.values, expected, textWidth),
  ];
  const tower = await model.observeTower(given);
  if (tower) {
    const width = tower.length / fromFeatures.rows;
    sections.splice(1, 0, judge('audio.tower', tower, await reference.floats('audio.tower'), width));
  }
  return { sections, softTokens };
}

async function referenceFeatures(model: AudioModel, reference: Reference): Promise<AudioFeatures> {
  const values = await reference.floats('audio.input_features');
  const mask = await reference.integers('audio.input_features_mask');
  const frameCount = mask.length;
  const width = values.length / frameCount;
  const validFrameCount = mask.filter((valid) => valid === 1).length;
  return model.config.kind === 'tower'
    ? { kind: 'mel', frameCount, validFrameCount, width, values }
    : { kind: 'frames', frameCount, width, values };
}

/** The features without padding rows, whose number depends on the implementation. */
function validValues(features: AudioFeatures): Float32Array {
  const rows = features.kind === 'mel' ? features.validFrameCount : features.frameCount;
  return features.values.subarray(0, rows * features.width);
}
