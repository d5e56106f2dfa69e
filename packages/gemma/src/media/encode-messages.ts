import { ContextLengthError, InvalidArgumentError } from '@markbase/core';
import type { ChatMessage, ContentPart, TextModel } from '@markbase/text';
import type { MediaEncoders } from './media-encoders.js';
import { type MediaSource, mediaInput } from './media-source.js';
import type { AudioPart, ImagePart, Message, MessagePart, VideoPart } from './message.js';

/** What media are encoded with, and for. */
export interface EncodeContext {
  /** The model that will read the messages: its context limits sounds and videos. */
  readonly text: TextModel;
  /** The encoders of its checkpoint. */
  readonly media: MediaEncoders;
  /** Aborts the encoding, which then throws the signal's reason. */
  readonly signal?: AbortSignal;
}

/**
 * Replaces the media of messages with their soft tokens, in order. All sounds and videos together are refused before
 * they are encoded if they have more tokens than the context.
 *
 * @throws ContextLengthError; the errors of the encoders; UnsupportedModelError if the model takes no such media
 */
export async function encodeMessages(
  messages: readonly Message[],
  context: EncodeContext,
): Promise<ChatMessage[]> {
  const { contextTokens } = context.text.settings;
  const room = { tokens: contextTokens, contextTokens };
  const encoded: ChatMessage[] = [];
  for (const message of messages) {
    const { content } = message;
    const parts = Array.isArray(content) ? await encodeInto(content, room, context) : content;
    encoded.push({ ...message, content: parts as ChatMessage['content'] });
  }
  return encoded;
}

/** Encodes the media among the parts of one message; see `encodeMessages`. */
export function encodeParts(parts: readonly MessagePart[], context: EncodeContext): Promise<ContentPart[]> {
  const { contextTokens } = context.text.settings;
  return encodeInto(parts, { tokens: contextTokens, contextTokens }, context);
}

interface Room {
  /** Tokens that are left. */
  tokens: number;
  readonly contextTokens: number;
}

async function encodeInto(
  parts: readonly MessagePart[],
  room: Room,
  context: EncodeContext,
): Promise<ContentPart[]> {
  const encoded: ContentPart[] = [];
  for (const part of parts) encoded.push(...(await encodePart(part, room, context)));
  return encoded;
}

async function encodePart(
  part: MessagePart,
  room: Room,
  { media, signal }: EncodeContext,
): Promise<ContentPart[]> {
  if (typeof part === 'string') return [{ type: 'text', text: part }];
  if (isMedium(part, 'image')) {
    const budget = part.tokens === undefined ? {} : { budget: part.tokens };
    const vision = await media.vision();
    const softTokens = await vision.encode(await mediaInput(part.image, signal), { ...budget, signal });
    room.tokens -= softTokens.rows;
    return [{ type: 'image', softTokens }];
  }
  if (isMedium(part, 'audio')) {
    const maxTokens = roomIn(room);
    const audio = await media.audio();
    const segments = await audio.encode(await mediaInput(part.audio, signal), { maxTokens, signal });
    for (const { softTokens } of segments) room.tokens -= softTokens.rows;
    return segments.map(({ softTokens }) => ({ type: 'audio', softTokens }));
  }
  if (isMedium(part, 'video')) {
    const { maxFrames } = part;
    const limits = { maxTokens: roomIn(room), ...(maxFrames !== undefined && { maxFrames }) };
    const vision = await media.vision();
    const frames = await vision.encodeVideo(await mediaInput(part.video, signal), { ...limits, signal });
    for (const { softTokens } of frames) room.tokens -= softTokens.rows;
    return [{ type: 'video', frames }];
  }
  if (typeof part === 'object' && part !== null && 'type' in part) return [part];
  throw new InvalidArgumentError({
    argument: 'a part of a message',
    expected: 'text, { image }, { audio }, { video }, or { type: … }',
    received: part,
  });
}

/** Tokens that are left. @throws ContextLengthError if there are none */
function roomIn({ tokens, contextTokens }: Room): number {
  if (tokens > 0) return tokens;
  throw new ContextLengthError({
    promptTokens: contextTokens - tokens,
    maxTokens: contextTokens,
    isLeast: true,
  });
}

type MediumPart = { image: ImagePart; audio: AudioPart; video: VideoPart };

function isMedium<Kind extends keyof MediumPart>(part: MessagePart, kind: Kind): part is MediumPart[Kind] {
  const source: MediaSource | undefined = Object(part)[kind];
  return source !== undefined;
}
