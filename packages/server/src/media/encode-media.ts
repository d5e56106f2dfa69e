import { hasErrorCode, MarkBaseError } from '@markbase/core';
import type { ChatMessage, ContentPart, MediaEncoder, MediaPart } from '@markbase/text';
import { badParameter } from '../errors/request-error.js';
import { linkedAbort } from '../http/linked-abort.js';
import type { ServerLimits } from '../server-options.js';
import { fetchMedium } from './fetch-medium.js';
import type { MediaSource } from './media-source.js';

/** Errors that are caused by the medium itself. */
const MEDIUM_ERROR_CODES = ['INVALID_ARGUMENT', 'CORRUPT_FILE', 'UNSUPPORTED_MEDIA', 'UNSUPPORTED_MODEL'];

/** Options of `encodeMedia`. */
export interface EncodeMediaOptions {
  readonly encoder: MediaEncoder | undefined;
  readonly allowedHosts: readonly string[];
  readonly limits: Pick<ServerLimits, 'mediaBytes' | 'mediaParts' | 'fetchMs'>;
  readonly signal: AbortSignal;
}

/**
 * Replaces the media parts of messages, which carry a `source`, with soft tokens. All media are fetched and encoded
 * concurrently; if one fails, the others are stopped.
 *
 * @throws RequestError (400) for media that the model does not support or that cannot be read
 */
export async function encodeMedia(
  messages: readonly ChatMessage[],
  options: EncodeMediaOptions,
): Promise<readonly ChatMessage[]> {
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? content.filter(hasSource) : []));
  if (parts.length === 0) return messages;
  const { mediaParts } = options.limits;
  if (parts.length > mediaParts) {
    const param = parts[mediaParts]!.source.param;
    throw badParameter(
      param,
      `Too many media: ${parts.length}, the maximum is ${mediaParts}`,
      'too_many_media',
    );
  }
  for (const part of parts) checkKind(part, options.encoder);
  const { signal, abort, unlink } = linkedAbort(options.signal);
  const encoding = parts.map((part) => encodePart(part, { ...options, signal }));
  try {
    const encoded = new Map<ContentPart, readonly MediaPart[]>();
    for (const [index, result] of (await Promise.all(encoding)).entries()) encoded.set(parts[index]!, result);
    return messages.map((message) => {
      if (!Array.isArray(message.content)) return message;
      const content = message.content.flatMap(
        (part: ContentPart): readonly ContentPart[] => encoded.get(part) ?? [part],
      );
      return { ...message, content };
    });
  } catch (error) {
    abort();
    await Promise.allSettled(encoding);
    throw error;
  } finally {
    unlink();
  }
}

type SourcePart = MediaPart & { readonly source: MediaSource };

function hasSource(part: ContentPart): part is SourcePart {
  return part.type !== 'text' && 'source' in part;
}

function checkKind({ type, source: { param } }: SourcePart, encoder: MediaEncoder | undefined): void {
  const known = { image: encoder?.encodeImage, audio: encoder?.encodeAudio, video: encoder?.encodeVideo };
  if (known[type]) return;
  throw badParameter(param, `This model is not served with ${type} input`, 'unsupported_media');
}

async function encodePart(part: SourcePart, options: EncodeMediaOptions): Promise<readonly MediaPart[]> {
  const { type, source } = part;
  const { limits, signal, allowedHosts } = options;
  const encoder = options.encoder!;
  const { param, budget, format, data } = source;
  const bytes =
    data instanceof URL
      ? await fetchMedium(data, {
          allowedHosts,
          limitBytes: limits.mediaBytes,
          timeoutMs: limits.fetchMs,
          param,
          signal,
        })
      : data;
  if (bytes.length > limits.mediaBytes) {
    throw badParameter(param, `The ${type} is larger than ${limits.mediaBytes} bytes`, 'media_too_large');
  }
  const common = { signal, ...(budget !== undefined && { budget }) };
  try {
    if (type === 'image') return [{ type, softTokens: await encoder.encodeImage!(bytes, common) }];
    if (type === 'video') return [{ type, frames: await encoder.encodeVideo!(bytes, common) }];
    const pieces = await encoder.encodeAudio!(bytes, { signal, ...(format !== undefined && { format }) });
    return pieces.map((softTokens) => ({ type, softTokens }));
  } catch (error) {
    if (!MarkBaseError.isInstance(error) || !MEDIUM_ERROR_CODES.some((code) => hasErrorCode(error, code)))
      throw error;
    throw badParameter(param, `The ${type} cannot be used: ${error.message}`, 'invalid_media');
  }
}
