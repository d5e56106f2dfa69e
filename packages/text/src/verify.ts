import {
  type Checkpoint,
  openCheckpoint,
  openReference,
  type Reference,
  reportOf,
  skippedSection,
  type VerifyReport,
  type VerifySection,
} from '@markbase/loader';
import type { Device, FeedForwardFactory } from '@markbase/metal-runtime';
import { TextModel } from './text-model.js';
import { verifyAssistant } from './verify/assistant-section.js';
import {
  VERIFY_CHUNK_TOKENS,
  VERIFY_SEQUENCES,
  type VerifyContext,
  type VerifyEncoder,
} from './verify/context.js';
import { verifyGenerate } from './verify/generate-section.js';
import { verifyInvariance } from './verify/invariance-section.js';
import { verifyMedia } from './verify/media-sections.js';
import { verifyLayers, verifyText } from './verify/text-sections.js';

/** What a verification is about to compare. */
export interface VerifyProgress {
  /** In words, such as `the layers`. */
  readonly part: string;
  /** Its number, from 0. */
  readonly index: number;
  /** Number of parts. */
  readonly count: number;
}

/** Options of `verifyCheckpoint`. */
export interface VerifyOptions {
  /** Default 'high'. */
  readonly precision?: 'high' | 'fast';
  /** Feed-forward block for models with experts. Without it, such checkpoints are skipped. */
  readonly feedForward?: FeedForwardFactory<Checkpoint>;
  /** Media encoders. Without them, only the decoder is checked, with the reference's soft tokens. */
  readonly encoders?: { readonly image?: VerifyEncoder; readonly audio?: VerifyEncoder };
  /** Fusions to disable, or false to disable all. */
  readonly fusions?: false | { readonly without: readonly string[] };
  /** Called before each part that is compared. */
  onPart?(progress: VerifyProgress): void;
  /** Aborts the verification, which then throws the signal's reason. */
  readonly signal?: AbortSignal;
}

/**
 * Compares a checkpoint with the reference outputs next to it (`expected.safetensors`).
 *
 * In `high`, hidden states, logits and greedy steps must be within 1e-4 relative rms, greedy tokens must be equal, and
 * the logits must be the same bits however a prompt is split or batched. In `fast`, each layer is judged on its own
 * (3e-2, median over positions) and figures of the whole model are only reported. NaN and infinity always fail.
 *
 * @param source a checkpoint folder or an open checkpoint
 */
export async function verifyCheckpoint(
  source: string | Checkpoint,
  device: Device,
  options: VerifyOptions = {},
): Promise<VerifyReport> {
  const { precision = 'high', signal } = options;
  const checkpoint =
    typeof source === 'string' ? await openCheckpoint(source, { ...(signal && { signal }) }) : source;
  const report = (sections: VerifySection[]) => reportOf(checkpoint.directory, precision, sections);
  const { config } = checkpoint;
  if (config.family === 'gemma4_assistant') {
    return report(await verifyAssistant(checkpoint, device, precision));
  }
  if (config.text.experts && !options.feedForward) {
    return report([skippedSection('text', 'a mixture of experts needs @markbase/moe')]);
  }
  const reference = await openReference(checkpoint.directory);
  const longest = await longestPrompt(reference);
  const load = (maxSequences: number, prefillChunk: number) =>
    TextModel.load(checkpoint, device, {
      precision,
      contextTokens: longest + 1,
      maxSequences,
      prefillChunk,
      checkFinite: precision === 'fast',
      // The reference sampled without it.
      suppressPlaceholders: false,
      ...(options.feedForward && { feedForward: options.feedForward }),
      ...(options.fusions !== undefined && { fusions: options.fusions }),
      ...(signal && { signal }),
    });
  using whole = await load(1, longest);
  using chunked = await load(VERIFY_SEQUENCES, VERIFY_CHUNK_TOKENS);
  const { encoders = {}, fusions } = options;
  const context: VerifyContext = {
    reference,
    precision,
    whole,
    chunked,
    ...(fusions !== undefined && { fusions }),
    ...(signal && { signal }),
  };
  const parts: readonly [string, () => Promise<readonly VerifySection[]>][] = [
    ['the whole model', () => verifyText(context)],
    ['the layers', () => verifyLayers(context)],
    ['generated tokens', () => verifyGenerate(context)],
    ['invariance', () => verifyInvariance(context)],
    ['pictures', () => verifyMedia(context, 'image', encoders.image)],
    ['sound', () => verifyMedia(context, 'audio', encoders.audio)],
  ];
  const sections: VerifySection[] = [];
  for (const [index, [part, verify]] of parts.entries()) {
    options.onPart?.({ part, index, count: parts.length });
    sections.push(...(await verify()));
  }
  return report(sections);
}

async function longestPrompt(reference: Reference): Promise<number> {
  const names = ['text.input_ids', 'image.input_ids', 'audio.input_ids'].filter((name) =>
    reference.has(name),
  );
  const prompts = await Promise.all(names.map((name) => reference.integers(name)));
  const prompt = await reference.integers('generate.prompt');
  const tokens = await reference.integers('generate.tokens');
  return Math.max(...prompts.map((ids) => ids.length), prompt.length + tokens.length);
}
