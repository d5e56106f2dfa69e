import { type Checkpoint, cacheBytes } from '@markbase/loader';

/** Properties that determine the cache size of a sequence. */
export interface SequenceSize {
  readonly contextTokens: number;
  readonly prefillChunk: number;
  readonly precision: 'high' | 'fast';
}

/** How many prompts can be remembered within a memory limit, in addition to running answers. */
export function rememberedSequences({ config }: Checkpoint, limitBytes: number, size: SequenceSize): number {
  if (config.family === 'gemma4_assistant') return 0;
  const bytesOf = (sequences: number) =>
    cacheBytes(config.text, {
      contextTokens: size.contextTokens,
      sequences,
      maxStepTokens: Math.min(size.prefillChunk, size.contextTokens),
      elementBytes: size.precision === 'high' ? 4 : 2,
    });
  return Math.floor(limitBytes / (bytesOf(2) - bytesOf(1)));
}
