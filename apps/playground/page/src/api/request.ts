import { apiKey } from '../settings/settings.js';
import { errorOf, RequestError } from './request-error.js';

/**
 * `fetch` with the API key from the settings; rejects unless the status is 2xx.
 *
 * @throws RequestError, with the server's message if there is one; the signal's reason when aborted
 */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (apiKey.value !== '') headers.set('authorization', `Bearer ${apiKey.value}`);
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers });
  } catch (error) {
    init.signal?.throwIfAborted();
    throw new RequestError(error instanceof Error ? error.message : String(error), { status: 0 });
  }
  if (response.ok) return response;
  const text = await response.text().catch(() => '');
  const { message, code } = errorOf(text);
  const retryAfter = response.headers.get('retry-after');
  throw new RequestError(message, { status: response.status, code, retryAfter });
}
