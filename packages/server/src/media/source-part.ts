import type { ChatMessage, ContentPart, MediaPart } from '@markbase/text';
import type { MediaSource } from './media-source.js';

/** A message part with a medium that has not been encoded yet. */
export type SourcePart = MediaPart & { readonly source: MediaSource };

/** True for a part that still has its source. */
export function hasSource(part: ContentPart): part is SourcePart {
  return part.type !== 'text' && 'source' in part;
}

/** The messages with some parts replaced. */
export function replaceParts(
  messages: readonly ChatMessage[],
  replacements: ReadonlyMap<ContentPart, readonly ContentPart[]>,
): ChatMessage[] {
  return messages.map((message) => {
    if (!Array.isArray(message.content)) return message;
    const content = message.content.flatMap(
      (part: ContentPart): readonly ContentPart[] => replacements.get(part) ?? [part],
    );
    return { ...message, content };
  });
}
