import type { Checkpoint } from '@markbase/loader';
import type { ContentPart } from '@markbase/text';

/**
 * Arranges media and the text about them in the order that models were trained with: media first. In 12B, sound comes
 * after the text; otherwise the model answers a question it hears instead of following the instruction.
 */
export function arrangeParts(
  media: readonly ContentPart[],
  text: string,
  { config }: Pick<Checkpoint, 'config'>,
): ContentPart[] {
  const isLate = ({ type }: ContentPart) => type === 'audio' && config.family === 'gemma4_unified';
  return [
    ...media.filter((part) => !isLate(part)),
    { type: 'text', text },
    ...media.filter((part) => isLate(part)),
  ];
}
