import type { RunningAnswer } from '../answering/answer-runner.js';
import { parseRequest } from '../errors/parse-request.js';
import { jsonResponse, OPENAI_STREAM, streamResponse } from '../http/answer-response.js';
import type { Frame } from '../http/event-stream.js';
import type { RequestScope } from '../request-scope.js';
import { ChatAnswer } from './chat-answer.js';
import { chatPlan } from './chat-plan.js';
import { chatRequest } from './chat-request.js';

/** `POST /v1/chat/completions`. */
export async function chatCompletions(scope: RequestScope): Promise<Response> {
  const request = parseRequest(chatRequest, await scope.json());
  const served = scope.served(request.model);
  const plan = chatPlan(request, served, scope.settings.limits.choices);
  const withUsage = request.stream_options?.include_usage ?? false;
  const { tokenizer } = await served.model.language();
  const head = { id: scope.newId('chatcmpl-'), created: scope.nowSeconds(), model: served.id };
  const chatAnswer = ({ promptTokens }: RunningAnswer) =>
    new ChatAnswer({
      head,
      count: plan.count,
      promptTokens,
      tokenizer,
      logprobs: request.logprobs ?? false,
      withUsage,
    });
  const opening = scope.open(plan);

  if (!request.stream) {
    return jsonResponse(
      opening,
      async (answer) => {
        const chat = chatAnswer(answer);
        for await (const event of answer.events()) chat.push(event);
        return chat.whole();
      },
      scope.responseOptions,
    );
  }
  return streamResponse(
    opening,
    async function* (answer): AsyncGenerator<Frame, void, void> {
      const chat = chatAnswer(answer);
      yield* chat.begin();
      for await (const event of answer.events()) yield* chat.push(event);
      if (withUsage) yield chat.usageChunk();
      yield { data: '[DONE]' };
    },
    OPENAI_STREAM,
    scope.responseOptions,
  );
}
