import { type Checkpoint, cacheBytes } from '@markbase/loader';

/** What the caches of one sequence depend on. */
export interface SequenceSize {
  readonly contextTokens: number;
  readonly prefillChunk: number;
  readonly precision: 'high' | 'fast';
}

/** How many prompts can be remembered, beside those that are being answered, within so many bytes. */
export function rememberedSequences({ config }: Checkpoint, limitBytes: number, size: SequenceSize): number {
  if (config.family === 'gemma4_assistant') return 0;
  const ofOne = cacheBytes(config.text, {
    contextTokens: size.contextTokens,
    sequences: 1,
    maxStepTokens: Math.min(size.prefillChunk, size.contextTokens),
    elementBytes: size.precision === 'high' ? 4 : 2,
  });
  return Math.floor(limitBytes / ofOne);
}
