import { ContextLengthError, hasErrorCode } from '@markbase/core';
import type { SoftTokens } from '@markbase/metal-runtime';
import type { ChatMessage, ContentPart, MediaEncoder, MediaPart } from '@markbase/text';
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
  const common = { signal, maxTokens, ...(budget !== undefined && { budget }) };
  try {
    if (maxTokens < 1) {
      throw new ContextLengthError({
        promptTokens: contextTokens - maxTokens + 1,
        maxTokens: contextTokens,
        isLeast: true,
      });
    }
    if (type === 'image') return [{ type, softTokens: await encoder.encodeImage!(bytes, common) }];
    if (type === 'video') {
      const frames = await encoder.encodeVideo!(bytes, common);
      for (const { softTokens } of frames) room.tokens -= softTokens.rows;
      const sound = encoder.encodeAudio ? await soundOfVideo(bytes, encoder, room.tokens, signal) : [];
      for (const { rows } of sound) room.tokens -= rows;
      return [{ type, frames }, ...sound.map((softTokens) => ({ type: 'audio' as const, softTokens }))];
    }
    const sound = { signal, maxTokens, ...(format !== undefined && { format }) };
    const pieces = await encoder.encodeAudio!(bytes, sound);
    for (const { rows } of pieces) room.tokens -= rows;
    return pieces.map((softTokens) => ({ type, softTokens }));
  } catch (error) {
    throw mediumError(error, { what: type, param });
  }
}

/** The sound of a video; none if it has none, or if it does not fit. */
async function soundOfVideo(
  bytes: Uint8Array,
  encoder: MediaEncoder,
  maxTokens: number,
  signal: AbortSignal,
): Promise<readonly SoftTokens[]> {
  try {
    return await encoder.encodeAudio!(bytes, { signal, maxTokens: Math.max(1, Math.floor(maxTokens / 2)) });
  } catch (error) {
    const isWithout = ['UNSUPPORTED_MEDIA', 'CONTEXT_LENGTH', 'CORRUPT_FILE'].some((code) =>
      hasErrorCode(error, code),
    );
    if (isWithout) return [];
    throw error;
  }
}
