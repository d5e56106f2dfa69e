import { InvalidArgumentError } from '@markbase/core';
import type { SpecialTokenIds } from '@markbase/loader';
import type { SoftTokens } from '@markbase/metal-runtime';
import type { ChatMessage, EncodedChat, MediaPart } from '../chat/index.js';
import type { MediaSpan, Prompt } from '../engine/prompt.js';
import type { Tokenizer } from '../tokenizer/index.js';

/** An image or a sound as a message part, with the output of its tower. */
export interface SoftTokensPart extends MediaPart {
  /** Kind of the medium. */
  readonly type: 'image' | 'audio';
  /** Output of its tower [S, D]. */
  readonly softTokens: SoftTokens;
}

/** A video as a message part: frames with their timestamps. */
export interface VideoPart extends MediaPart {
  readonly type: 'video';
  /** Frames in the order of time, each with its output of the tower [S, D]. */
  readonly frames: readonly { readonly timestampSeconds: number; readonly softTokens: SoftTokens }[];
}

/**
 * Replaces the single placeholder of every medium with one placeholder per soft token, between delimiters. A video
 * becomes a series of frames with their timestamps (docs/gemma4.md sections 3.5 and 3.6).
 *
 * @throws InvalidArgumentError for parts without soft tokens, and for media that the model has no tokens for
 */
export function expandMedia(
  encoded: EncodedChat,
  messages: readonly ChatMessage[],
  tokenizer: Tokenizer,
  tokens: SpecialTokenIds,
): Prompt {
  const parts = messages.flatMap(({ content }) =>
    Array.isArray(content) ? content.filter((part): part is MediaPart => part.type !== 'text') : [],
  );
  if (parts.length !== encoded.media.length) {
    throw new InvalidArgumentError({
      argument: 'messages',
      expected: `media for the ${encoded.media.length} placeholders that the chat template renders`,
      received: `${parts.length} media`,
      hint: 'The template drops media of some roles: put them into a user message',
    });
  }
  const expander = new MediaExpander(tokenizer, tokens);
  let next = 0;
  for (const [index, { tokenIndex }] of encoded.media.entries()) {
    expander.pushIds(encoded.ids.slice(next, tokenIndex));
    expander.pushPart(parts[index]!, index);
    next = tokenIndex + 1;
  }
  expander.pushIds(encoded.ids.slice(next));
  return { ids: expander.ids, media: expander.media };
}

class MediaExpander {
  readonly ids: number[] = [];
  readonly media: MediaSpan[] = [];
  readonly #tokenizer: Tokenizer;
  readonly #tokens: SpecialTokenIds;

  constructor(tokenizer: Tokenizer, tokens: SpecialTokenIds) {
    this.#tokenizer = tokenizer;
    this.#tokens = tokens;
  }

  pushIds(ids: Iterable<number>): void {
    for (const id of ids) this.ids.push(id);
  }

  pushPart(part: MediaPart, index: number): void {
    if (part.type === 'video' && Array.isArray(part.frames) && part.frames.length > 0) {
      for (const [frame, { timestampSeconds, softTokens }] of (part as VideoPart).frames.entries()) {
        const time = `${frame === 0 ? '' : ' '}${minutesAndSeconds(timestampSeconds)} `;
        this.pushIds(this.#tokenizer.encode(time));
        this.#pushSpan('video', softTokens, index);
      }
      return;
    }
    this.#pushSpan(part.type, part.softTokens as SoftTokens | undefined, index);
  }

  #pushSpan(kind: SoftTokens['kind'], softTokens: SoftTokens | undefined, index: number): void {
    if (softTokens?.kind !== kind) {
      throw new InvalidArgumentError({
        argument: `medium ${index} of the messages`,
        expected: kind === 'video' ? 'frames with their soft tokens' : `soft tokens of kind ${kind}`,
        received: softTokens?.kind,
        hint: 'Encode the medium first',
      });
    }
    const { beginAudio, endAudio, beginImage, endImage } = this.#tokens;
    const [begin, end] = kind === 'audio' ? [beginAudio, endAudio] : [beginImage, endImage];
    const placeholder = this.#tokens[kind];
    if (placeholder === null || begin === null || end === null) {
      throw new InvalidArgumentError({
        argument: `medium ${index} of the messages`,
        expected: 'a medium that this model has tokens for',
        received: kind,
      });
    }
    this.ids.push(begin);
    this.media.push({ begin: this.ids.length, softTokens });
    for (let row = 0; row < softTokens.rows; row++) this.ids.push(placeholder);
    this.ids.push(end);
  }
}

/** MM:SS, both rounded down. */
function minutesAndSeconds(seconds: number): string {
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  return `${two(seconds / 60)}:${two(seconds % 60)}`;
}
