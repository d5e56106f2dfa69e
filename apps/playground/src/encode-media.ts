import type { MediaEncoders, MessagePart } from '@markbase/gemma';
import type { ContentPart, TextModel } from '@markbase/text';
import { homePath } from './home-path.js';
import { startProgress, warn } from './progress.js';
import { standardInput } from './prompt-input.js';

/** The flags that name media, in the order in which the media precede the prompt. */
export interface MediaFlags {
  readonly image: readonly string[];
  readonly audio: readonly string[];
  readonly video?: string;
  /** Maximum number of frames of the video. */
  readonly videoFrames?: number;
  readonly imageTokens?: number;
  /** Text that shares the context with the media; default: empty. */
  readonly prompt?: string;
  readonly system?: string;
  /** Maximum number of tokens in the answer. */
  readonly maxTokens?: number;
}

/**
 * Encodes media with the encoders of the checkpoint; returns parts of the user's message.
 *
 * @throws the errors of the encoders; UnsupportedModelError if the checkpoint has none
 */
export async function encodeMedia(
  flags: MediaFlags,
  text: TextModel,
  media: MediaEncoders,
  signal: AbortSignal | undefined,
): Promise<ContentPart[]> {
  const { image, audio, video, videoFrames, imageTokens } = flags;
  const files = [...image, ...(video === undefined ? [] : [video]), ...audio];
  if (files.length === 0) return [];
  const { encodeParts } = await import('@markbase/gemma');
  const input = readsStandardInput(flags) ? await standardInput() : null;
  const source = (path: string) => (path === '-' && input ? input : homePath(path));
  const parts: MessagePart[] = [
    ...image.map((path) => ({
      image: source(path),
      ...(imageTokens !== undefined && { tokens: imageTokens }),
    })),
    ...(video === undefined
      ? []
      : [{ video: source(video), ...(videoFrames !== undefined && { maxFrames: videoFrames }) }]),
    ...audio.map((path) => ({ audio: source(path) })),
  ];
  const progress = startProgress('encoding');
  progress.say(`encoding ${files.join(', ')}`);
  const reservedTokens = await textTokens(flags, text);
  const onWarning = (message: string) => warn(withAdvice(message));
  try {
    return await encodeParts(parts, { text, media, reservedTokens, onWarning, ...(signal && { signal }) });
  } finally {
    progress.finish();
  }
}

/** True if a medium is on standard input. */
export function readsStandardInput({ image, audio, video }: MediaFlags): boolean {
  return [...image, ...audio, video].includes('-');
}

/** Tokens of the chat template around a prompt; at most. */
const TEMPLATE_TOKENS = 48;
/** Tokens that are left for an answer of unlimited length; at most a quarter of the context. */
const ANSWER_TOKENS = 512;

/** Tokens that the prompt, its template and the answer need. */
async function textTokens(
  { prompt = '', system = '', maxTokens }: MediaFlags,
  model: TextModel,
): Promise<number> {
  const { tokenizer } = await model.language();
  const answer = maxTokens ?? Math.min(ANSWER_TOKENS, Math.floor(model.settings.contextTokens / 4));
  return tokenizer.encode(`${system}${prompt}`).length + TEMPLATE_TOKENS + answer;
}

/** Adds the options that change how many frames fit. */
function withAdvice(message: string): string {
  const isAboutFrames = message.includes('frames fit the context');
  return isAboutFrames ? `${message}; --context makes room for more, --video-frames takes fewer` : message;
}
