import { stat } from 'node:fs/promises';
import { ContextLengthError, hasErrorCode, InvalidArgumentError } from '@markbase/core';
import type { ChatMessage, ContentPart, SoftTokensPart, TextModel } from '@markbase/text';
import type { MediaEncoders } from './media-encoders.js';
import { type MediaSource, mediaInput } from './media-source.js';
import type { AudioPart, ImagePart, Message, MessagePart, VideoPart } from './message.js';

/** What media are encoded with, and for. */
export interface EncodeContext {
  /** The model that will read the messages: its context limits sounds and videos. */
  readonly text: TextModel;
  /** The encoders of its checkpoint. */
  readonly media: MediaEncoders;
  /** Tokens of the context that frames of a video leave for text and answer; default: a quarter of the context, at most 512. */
  readonly reservedTokens?: number;
  /** Called with a sentence about media that are used, but not whole: frames that do not fit, damage that does not matter. */
  readonly onWarning?: (message: string) => void;
  /** Aborts the encoding, which then throws the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Tokens that a video leaves at most if nobody says otherwise. */
const RESERVED_TOKENS = 512;

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

async function encodePart(part: MessagePart, room: Room, context: EncodeContext): Promise<ContentPart[]> {
  const { media, signal, onWarning } = context;
  if (typeof part === 'string') return [{ type: 'text', text: part }];
  if (isMedium(part, 'image')) {
    const budget = part.tokens === undefined ? {} : { budget: part.tokens };
    const vision = await media.vision();
    const softTokens = await vision.encode(await mediaInput(part.image, signal), {
      ...budget,
      signal,
      ...(onWarning && { onWarning }),
    });
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
  if (isMedium(part, 'video')) return encodeVideo(part, room, context);
  if (typeof part === 'object' && part !== null && 'type' in part) return [part];
  throw new InvalidArgumentError({
    argument: 'a part of a message',
    expected: 'text, { image }, { audio }, { video }, or { type: … }',
    received: part,
  });
}

/** The frames of a video, as many as fit, and its sound where the model hears. */
async function encodeVideo(part: VideoPart, room: Room, context: EncodeContext): Promise<ContentPart[]> {
  const { media, signal, onWarning } = context;
  const { contextTokens } = room;
  const vision = await media.vision();
  const source = await mediaInput(part.video, signal);
  // The sound first: it cannot be thinned out like frames, which take the room that is left.
  const sound = await soundOfVideo(source, roomIn(room), context);
  for (const { softTokens } of sound) room.tokens -= softTokens.rows;
  const reserved = context.reservedTokens ?? Math.min(RESERVED_TOKENS, Math.floor(contextTokens / 4));
  const frames = await vision.encodeVideo(source, {
    maxTokens: Math.max(1, roomIn(room) - reserved),
    ...(part.maxFrames !== undefined && { maxFrames: part.maxFrames }),
    onSampled: ({ frameCount, takenCount, isCutToFit }) => {
      if (!isCutToFit) return;
      const name = typeof source === 'string' ? source : 'the video';
      onWarning?.(
        `${name}: ${takenCount} of ${frameCount} frames fit the context of ${contextTokens} tokens`,
      );
    },
    signal,
  });
  for (const { softTokens } of frames) room.tokens -= softTokens.rows;
  return [{ type: 'video', frames }, ...sound];
}

/** The sound of a video file; none if it has none, the model does not hear, or the sound takes more than half of the room. */
async function soundOfVideo(
  source: string | Uint8Array,
  roomTokens: number,
  { media, signal, onWarning }: EncodeContext,
): Promise<SoftTokensPart[]> {
  const isFile = typeof source !== 'string' || (await stat(source).catch(() => null))?.isFile();
  if (!isFile) return [];
  try {
    const audio = await media.audio();
    const segments = await audio.encode(source, {
      maxTokens: Math.max(1, Math.floor(roomTokens / 2)),
      signal,
    });
    return segments.map(({ softTokens }) => ({ type: 'audio', softTokens }));
  } catch (error) {
    if (hasErrorCode(error, 'UNSUPPORTED_MODEL') || hasErrorCode(error, 'UNSUPPORTED_MEDIA')) return [];
    if (!hasErrorCode(error, 'CONTEXT_LENGTH') && !hasErrorCode(error, 'CORRUPT_FILE')) throw error;
    onWarning?.(`the video is read without its sound: ${(error as Error).message}`);
    return [];
  }
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
