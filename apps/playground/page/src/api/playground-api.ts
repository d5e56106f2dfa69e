import { request } from './request.js';
import { errorOf, RequestError } from './request-error.js';
import { serverSentEvents } from './server-sent-events.js';

const BASE = '/playground/api/';

/** An event of the playground's API with parsed data. */
export interface ApiEvent {
  readonly event: string;
  readonly data: unknown;
}

/** Gets JSON. @throws RequestError */
export async function getJson<Value>(path: string, signal?: AbortSignal): Promise<Value> {
  const response = await request(BASE + path, { signal: signal ?? null });
  return (await response.json()) as Value;
}

/** Sends JSON and receives JSON. @throws RequestError */
export async function postJson<Value>(path: string, body: unknown, signal?: AbortSignal): Promise<Value> {
  return (await (await post(path, body, signal)).json()) as Value;
}

/** Sends JSON and receives events; an `error` event is thrown. @throws RequestError */
export async function* postEvents(
  path: string,
  body: unknown,
  signal?: AbortSignal,
): AsyncGenerator<ApiEvent> {
  yield* eventsOf(await post(path, body, signal));
}

/** Receives events; an `error` event is thrown. @throws RequestError */
export async function* getEvents(path: string, signal: AbortSignal): AsyncGenerator<ApiEvent> {
  yield* eventsOf(await request(BASE + path, { signal }));
}

function post(path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  return request(BASE + path, {
    method: 'POST',
    signal: signal ?? null,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

async function* eventsOf(response: Response): AsyncGenerator<ApiEvent> {
  for await (const { event, data } of serverSentEvents(response.body!)) {
    if (event !== 'error') {
      yield { event, data: JSON.parse(data) };
      continue;
    }
    const { message, code } = errorOf(data);
    throw new RequestError(message, { status: 400, code });
  }
}
