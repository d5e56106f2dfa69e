import type { Checkpoint } from '@markbase/loader';
import type { ContentPart } from '@markbase/text';

/**
 * Media and the words about them in the order in which a model was trained: media first, but sound behind the words in 12B,
 * which otherwise answers a question in the sound rather than do what it is told with it.
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
