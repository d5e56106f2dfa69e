import type { ChatMessage, ContentPart, MediaEncoder } from '@markbase/text';
import { badParameter } from '../errors/request-error.js';
import { linkedAbort } from '../http/linked-abort.js';
import type { ByteClaim } from '../limits/byte-budget.js';
import type { ServerLimits } from '../server-options.js';
import { fetchMedium, mediumTooLarge } from './fetch-medium.js';
import { hasSource, replaceParts, type SourcePart } from './source-part.js';

/** Options of `fetchMedia`. */
export interface FetchMediaOptions {
  readonly encoder: MediaEncoder | undefined;
  readonly allowedHosts: readonly string[];
  readonly limits: Pick<ServerLimits, 'mediaBytes' | 'mediaParts' | 'fetchMs'>;
  /** Counts what is fetched. */
  readonly claim: ByteClaim;
  readonly signal: AbortSignal;
}

/**
 * Replaces the URLs of media with their bytes. All are fetched concurrently; if one fails, the others are stopped.
 *
 * @throws RequestError: 400 for media that the model does not support or that cannot be fetched, 413 for media that are too large
 */
export async function fetchMedia(
  messages: readonly ChatMessage[],
  options: FetchMediaOptions,
): Promise<readonly ChatMessage[]> {
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? content.filter(hasSource) : []));
  const { mediaParts } = options.limits;
  if (parts.length > mediaParts) {
    const message = `Too many media: ${parts.length}, the maximum is ${mediaParts}`;
    throw badParameter(parts[mediaParts]!.source.param, message, 'too_many_media');
  }
  for (const part of parts) checkPart(part, options);
  const remote = parts.filter(({ source }) => source.data instanceof URL);
  if (remote.length === 0) return messages;
  const { signal, abort, unlink } = linkedAbort(options.signal);
  const fetching = remote.map((part) => fetchPart(part, { ...options, signal }));
  try {
    const fetched = await Promise.all(fetching);
    return replaceParts(messages, new Map(remote.map((part, index) => [part, [fetched[index]!]])));
  } catch (error) {
    abort();
    await Promise.allSettled(fetching);
    throw error;
  } finally {
    unlink();
  }
}

function checkPart({ type, source }: SourcePart, { encoder, limits }: FetchMediaOptions): void {
  const known = { image: encoder?.encodeImage, audio: encoder?.encodeAudio, video: encoder?.encodeVideo };
  const { param, data } = source;
  if (!known[type]) {
    throw badParameter(param, `This model is not served with ${type} input`, 'unsupported_media');
  }
  if (!(data instanceof URL) && data.length > limits.mediaBytes) {
    throw mediumTooLarge(param, `The ${type} is larger than ${limits.mediaBytes} bytes`);
  }
}

async function fetchPart(part: SourcePart, options: FetchMediaOptions): Promise<ContentPart> {
  const { allowedHosts, limits, claim, signal } = options;
  const { source } = part;
  const data = await fetchMedium(source.data as URL, {
    allowedHosts,
    limitBytes: limits.mediaBytes,
    timeoutMs: limits.fetchMs,
    param: source.param,
    onBytes: (bytes) => claim.add(bytes),
    signal,
  });
  return { ...part, source: { ...source, data } } as ContentPart;
}
