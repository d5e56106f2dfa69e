import type { RunningAnswer } from '../answering/answer-runner.js';
import { parseRequest } from '../errors/parse-request.js';
import { requestErrorOf } from '../errors/request-error-of.js';
import { jsonResponse, streamResponse } from '../http/answer-response.js';
import type { Frame } from '../http/event-stream.js';
import type { RequestScope } from '../request-scope.js';
import { ResponseAnswer } from './response-answer.js';
import { responsePlan } from './response-plan.js';
import { responseRequest } from './response-request.js';

/** `POST /v1/responses`: stateless, the input holds the whole conversation. */
export async function createResponse(scope: RequestScope): Promise<Response> {
  const request = parseRequest(responseRequest, await scope.json());
  const served = scope.served(request.model);
  const plan = responsePlan(request, served);
  const { tokenizer } = await served.model.language();
  const options = {
    id: scope.newId('resp_'),
    createdAt: scope.nowSeconds(),
    model: served.id,
    request,
    tokenizer,
    newId: (prefix: string) => scope.newId(prefix),
  };
  const opening = scope.open(plan);
  if (!request.stream) {
    return jsonResponse(
      opening,
      async ({ promptTokens, events }) => {
        const response = new ResponseAnswer({ ...options, promptTokens });
        for await (const { item } of events()) response.push(item);
        return response.whole();
      },
      scope.responseOptions,
    );
  }
  // Kept outside the generator: after an error, the same object numbers and writes the last event.
  let current: ResponseAnswer | null = null;
  return streamResponse(
    opening,
    async function* ({ promptTokens, events }: RunningAnswer): AsyncGenerator<Frame, void, void> {
      const response = new ResponseAnswer({ ...options, promptTokens });
      current = response;
      yield* response.begin();
      for await (const { item } of events()) yield* response.push(item);
    },
    {
      keepAlive: ': keep-alive\n\n',
      errorFrame: (error) => current?.fail(error) ?? errorEvent(error),
    },
    scope.responseOptions,
  );
}

/** The only event of a stream whose request turns out to be invalid after the headers were sent. */
function errorEvent(error: unknown): Frame {
  const { apiCode, message, param } = requestErrorOf(error);
  return { event: 'error', data: { type: 'error', sequence_number: 0, code: apiCode, message, param } };
}
