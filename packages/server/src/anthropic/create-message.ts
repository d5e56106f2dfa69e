import { parseRequest } from '../errors/parse-request.js';
import { jsonResponse, streamResponse } from '../http/answer-response.js';
import type { Frame } from '../http/event-stream.js';
import type { RequestScope } from '../request-scope.js';
import { ANTHROPIC_STREAM } from './anthropic-error.js';
import { MessageAnswer } from './message-answer.js';
import { argumentNames, messagePlan, promptOptions } from './message-plan.js';
import { countTokensRequest, messageRequest } from './message-request.js';

/** `POST /v1/messages`. */
export async function createMessage(scope: RequestScope): Promise<Response> {
  const request = parseRequest(messageRequest, await scope.json());
  const served = scope.served(request.model);
  const { thinking } = request;
  const showsThinking = !(thinking && 'display' in thinking && thinking.display === 'omitted');
  const head = { id: scope.newId('msg_'), model: served.id, showsThinking };
  const opening = scope.open(messagePlan(request, served));
  if (!request.stream) {
    return jsonResponse(
      opening,
      async ({ promptTokens, events }) => {
        const message = new MessageAnswer({ ...head, promptTokens });
        for await (const { item } of events()) message.push(item);
        return message.whole();
      },
      scope.responseOptions,
    );
  }
  return streamResponse(
    opening,
    async function* ({ promptTokens, events }): AsyncGenerator<Frame, void, void> {
      const message = new MessageAnswer({ ...head, promptTokens });
      yield* message.begin();
      for await (const { item } of events()) yield* message.push(item);
    },
    ANTHROPIC_STREAM,
    scope.responseOptions,
  );
}

/** `POST /v1/messages/count_tokens`: the number of prompt tokens that a message would have, media included. */
export async function countMessageTokens(scope: RequestScope): Promise<Response> {
  const request = parseRequest(countTokensRequest, await scope.json());
  const served = scope.served(request.model);
  const plan = { served, options: promptOptions(request), count: 1, names: argumentNames(request) };
  const inputTokens = await scope.countTokens(plan);
  return Response.json({ input_tokens: inputTokens }, { headers: scope.responseOptions.headers });
}
