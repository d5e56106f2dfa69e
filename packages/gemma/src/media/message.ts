import type { ChatMessage, ContentPart } from '@markbase/text';
import type { MediaSource } from './media-source.js';

/** A picture in a message. */
export interface ImagePart {
  /** Path, URL or bytes of the file. */
  readonly image: MediaSource;
  /** Maximum number of soft tokens: 70, 140, 280, 560 or 1120; default: the checkpoint's. More show finer detail. */
  readonly tokens?: number;
}

/** A sound in a message. */
export interface AudioPart {
  /** Path, URL or bytes of the file: WAV, AIFF, FLAC, MP3, Ogg, WebM; with ffmpeg M4A and others. Sounds longer than 30 s are cut at quiet places. */
  readonly audio: MediaSource;
}

/** A video in a message. */
export interface VideoPart {
  /** Path, URL or bytes of the file, or the path of a folder of pictures. Most formats need an installed ffmpeg. */
  readonly video: MediaSource;
  /** Maximum number of frames, evenly spaced in time; default 32. Not more are taken than fit the context. */
  readonly maxFrames?: number;
}

/** A part of a message: text, a medium, or what @markbase/text takes. */
export type MessagePart = string | ImagePart | AudioPart | VideoPart | ContentPart;

/** A message of a conversation, whose parts may be media. */
export interface Message extends Omit<ChatMessage, 'content'> {
  /** Text or parts. Role `tool` also takes an object with the fields of the result. */
  readonly content?: string | readonly MessagePart[] | Readonly<Record<string, unknown>> | null;
}

/** A question: text, the parts of one message, or a conversation. */
export type Input = string | readonly MessagePart[] | readonly Message[];

/** The messages of an input; text and parts become one message of the user. */
export function messagesOf(input: Input): readonly Message[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }];
  return isConversation(input) ? input : [{ role: 'user', content: input }];
}

function isConversation(input: readonly MessagePart[] | readonly Message[]): input is readonly Message[] {
  const [first] = input;
  return typeof first === 'object' && 'role' in first;
}
