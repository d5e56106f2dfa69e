import { ContextLengthError } from '@markbase/core';
import {
  type ChatMessage,
  type ContentPart,
  encodeVideoParts,
  type MediaEncoder,
  type MediaPart,
  type SoftTokensPart,
  type VideoPart,
} from '@markbase/text';
import { linkedAbort } from '../http/linked-abort.js';
import { mediumError } from './medium-error.js';
import { hasSource, replaceParts, type SourcePart } from './source-part.js';

/** Options of `encodeMedia`. */
export interface EncodeMediaOptions {
  readonly encoder: MediaEncoder | undefined;
  /** Tokens that the context holds: all sounds and videos together are refused before they have more. */
  readonly contextTokens: number;
  readonly signal: AbortSignal;
}

/**
 * Replaces the media parts of messages, which carry a `source` with bytes, with soft tokens. Images are encoded
 * concurrently, and sounds and videos meanwhile, one after the other; if one fails, the others are stopped.
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
  const room = { tokens: options.contextTokens };
  let inTurn: Promise<unknown> | null = null;
  const encoding = parts.map((part) => {
    const encode = () => encodePart(part, room, { ...options, signal });
    if (part.type === 'image') return encode();
    // One after the other, each with the room that the others leave: together they are as long as the context at most.
    const encoded = inTurn === null ? encode() : inTurn.then(encode);
    inTurn = encoded;
    return encoded;
  });
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

/** @param room tokens that are left; those of the encoded part are taken from it */
async function encodePart(
  part: SourcePart,
  room: { tokens: number },
  options: EncodeMediaOptions,
): Promise<readonly MediaPart[]> {
  const { type, source } = part;
  const { signal, contextTokens } = options;
  const maxTokens = room.tokens;
  const encoder = options.encoder!;
  const { param, budget, format } = source;
  const bytes = source.data as Uint8Array;
  // An image takes what its budget says, and its encoder refuses options that it does not have.
  const image = { signal, ...(budget !== undefined && { budget }) };
  try {
    if (maxTokens < 1) {
      throw new ContextLengthError({
        promptTokens: contextTokens - maxTokens + 1,
        maxTokens: contextTokens,
        isLeast: true,
      });
    }
    if (type === 'image') return [{ type, softTokens: await encoder.encodeImage!(bytes, image) }];
    if (type === 'video') {
      const encoded = await encodeVideoParts(encoder, bytes, { ...image, maxTokens });
      room.tokens -= rowsOf(encoded);
      return encoded;
    }
    const sound = { signal, maxTokens, ...(format !== undefined && { format }) };
    const pieces = await encoder.encodeAudio!(bytes, sound);
    for (const { rows } of pieces) room.tokens -= rows;
    return pieces.map((softTokens) => ({ type, softTokens }));
  } catch (error) {
    throw mediumError(error, { what: type, param });
  }
}

function rowsOf(parts: readonly (VideoPart | SoftTokensPart)[]): number {
  let rows = 0;
  for (const part of parts) {
    for (const { softTokens } of part.type === 'video' ? part.frames : [part]) rows += softTokens.rows;
  }
  return rows;
}
