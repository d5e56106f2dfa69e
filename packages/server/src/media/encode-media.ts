import type { ChatMessage, ContentPart, MediaEncoder, MediaPart } from '@markbase/text';
import { linkedAbort } from '../http/linked-abort.js';
import { mediumError } from './medium-error.js';
import { hasSource, replaceParts, type SourcePart } from './source-part.js';

/** Options of `encodeMedia`. */
export interface EncodeMediaOptions {
  readonly encoder: MediaEncoder | undefined;
  /** Tokens that the context holds: decoding a medium stops when it has more. */
  readonly contextTokens: number;
  readonly signal: AbortSignal;
}

/**
 * Replaces the media parts of messages, which carry a `source` with bytes, with soft tokens. Media are encoded
 * concurrently; if one fails, the others are stopped.
 *
 * @throws RequestError (400) for media that cannot be read or that do not fit the context
 */
export async function encodeMedia(
  messages: readonly ChatMessage[],
  options: EncodeMediaOptions,
): Promise<readonly ChatMessage[]> {
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? content.filter(hasSource) : []));
  if (parts.length === 0) return messages;
  const { signal, abort, unlink } = linkedAbort(options.signal);
  const encoding = parts.map((part) => encodePart(part, { ...options, signal }));
  try {
    const encoded = await Promise.all(encoding);
    return replaceParts(
      messages,
      new Map<ContentPart, readonly MediaPart[]>(parts.map((part, index) => [part, encoded[index]!])),
    );
  } catch (error) {
    abort();
    await Promise.allSettled(encoding);
    throw error;
  } finally {
    unlink();
  }
}

async function encodePart(part: SourcePart, options: EncodeMediaOptions): Promise<readonly MediaPart[]> {
  const { type, source } = part;
  const { signal, contextTokens: maxTokens } = options;
  const encoder = options.encoder!;
  const { param, budget, format } = source;
  const bytes = source.data as Uint8Array;
  const common = { signal, maxTokens, ...(budget !== undefined && { budget }) };
  try {
    if (type === 'image') return [{ type, softTokens: await encoder.encodeImage!(bytes, common) }];
    if (type === 'video') return [{ type, frames: await encoder.encodeVideo!(bytes, common) }];
    const sound = { signal, maxTokens, ...(format !== undefined && { format }) };
    return (await encoder.encodeAudio!(bytes, sound)).map((softTokens) => ({ type, softTokens }));
  } catch (error) {
    throw mediumError(error, { what: type, param });
  }
}
