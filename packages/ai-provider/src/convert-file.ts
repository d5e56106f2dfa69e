import { type LanguageModelV3FilePart, UnsupportedFunctionalityError } from '@ai-sdk/provider';
import { type ContentPart, encodeVideoParts, type MediaEncoder } from '@markbase/text';

/** Options of `convertFile`. */
export interface FileOptions {
  readonly encoder: MediaEncoder | undefined;
  /** Tokens that the context holds: longer sounds and videos are refused before they are encoded. */
  readonly maxTokens?: number;
  /** Maximum number of soft tokens of an image. */
  readonly budget?: number;
  readonly signal?: AbortSignal;
}

/**
 * Turns a file of a prompt into message parts with soft tokens; a long sound becomes several, and a video its frames and its
 * sound. The AI SDK has already downloaded URLs.
 *
 * @throws UnsupportedFunctionalityError for file types that the model does not support
 */
export async function convertFile(
  part: LanguageModelV3FilePart,
  options: FileOptions,
): Promise<ContentPart[]> {
  const { mediaType } = part;
  const { encoder, maxTokens, budget, signal } = options;
  const limits = { ...(signal && { signal }), ...(maxTokens !== undefined && { maxTokens }) };
  const image = { ...(signal && { signal }), ...(budget !== undefined && { budget }) };
  const kind = mediaType.split('/', 1)[0];
  if (kind === 'image' && encoder?.encodeImage) {
    return [{ type: 'image', softTokens: await encoder.encodeImage(bytesOf(part), image) }];
  }
  if (kind === 'video' && encoder?.encodeVideo) {
    return encodeVideoParts(encoder, bytesOf(part), { ...limits, ...image });
  }
  if (kind === 'audio' && encoder?.encodeAudio) {
    const format = mediaType.split('/')[1];
    const pieces = await encoder.encodeAudio(bytesOf(part), {
      ...limits,
      ...(format !== undefined && format !== '*' && { format }),
    });
    return pieces.map((softTokens) => ({ type: 'audio', softTokens }));
  }
  throw new UnsupportedFunctionalityError({
    functionality: `file part of type ${mediaType}`,
    message: `This model does not support files of type ${mediaType}: pass a media encoder for them to the provider`,
  });
}

function bytesOf({ data, mediaType }: LanguageModelV3FilePart): Uint8Array {
  if (data instanceof Uint8Array) return data;
  if (typeof data === 'string') return Buffer.from(data, 'base64');
  throw new UnsupportedFunctionalityError({ functionality: `file part of type ${mediaType} as a URL` });
}
