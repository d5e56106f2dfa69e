import type { Checkpoint } from '@markbase/loader';
import type { DecoderConfig } from '../model/config.js';

/**
 * Ids that are never sampled: those of the generation config and, unless only these are wanted, the placeholders.
 *
 * Placeholders and their delimiters have trained rows in the tied head, but are not text (docs/gemma4.md section 8.6).
 */
export function suppressedIds(
  { placeholders }: DecoderConfig,
  { generation }: Checkpoint,
  withPlaceholders: boolean,
): number[] {
  const { image, video, audio, delimiters } = placeholders;
  const ids = [
    ...(withPlaceholders ? [image, video, audio, ...delimiters] : []),
    ...generation.suppressTokenIds,
  ];
  return [...new Set(ids.filter((id) => id !== null))].sort((a, b) => a - b);
}
