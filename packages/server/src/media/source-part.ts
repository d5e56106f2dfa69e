import type { ChatMessage, ContentPart, MediaPart } from '@markbase/text';
import type { MediaSource } from './media-source.js';

/** A part of a message whose medium was not encoded yet. */
export type SourcePart = MediaPart & { readonly source: MediaSource };

/** True for a part that still has its source. */
export function hasSource(part: ContentPart): part is SourcePart {
  return part.type !== 'text' && 'source' in part;
}

/** The messages with other parts in the place of some. */
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
