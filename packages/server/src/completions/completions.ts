import type { GenerateOptions } from '@markbase/text';
import { samplingOptions } from '../answering/sampling.js';
import { parseRequest } from '../errors/parse-request.js';
import { badParameter } from '../errors/request-error.js';
import { jsonResponse, OPENAI_STREAM, streamResponse } from '../http/answer-response.js';
import type { Frame } from '../http/event-stream.js';
import type { RequestScope } from '../request-scope.js';
import { CompletionAnswer } from './completion-answer.js';
import { completionRequest, maxTokensOf, promptsOf } from './completion-request.js';

const NAMES = { messages: [], tools: [], prompt: 'prompt', fields: {} };

/** `POST /v1/completions`: continues plain text. */
export async function completions(scope: RequestScope): Promise<Response> {
  const request = parseRequest(completionRequest, await scope.json());
  const served = scope.served(request.model);
  const perPrompt = request.n ?? 1;
  const prompts = promptsOf(request).flatMap((prompt) => Array.from({ length: perPrompt }, () => prompt));
  const { choices } = scope.settings.limits;
  if (prompts.length > choices) {
    const param = perPrompt > 1 ? 'n' : 'prompt';
    throw badParameter(
      param,
      `Invalid value for '${param}': at most ${choices} answers per request`,
      'invalid_value',
    );
  }
  const hasLogprobs = typeof request.logprobs === 'number';
  const options = {
    ...samplingOptions(request, served.model.config.vocabularySize),
    maxTokens: maxTokensOf(request),
    ...(hasLogprobs && { logprobs: true, topLogprobs: request.logprobs }),
  } as GenerateOptions;
  const head = { id: scope.newId('cmpl-'), created: scope.nowSeconds(), model: served.id };
  const count = prompts.length;
  const opening = scope.open({ served, options, count, prompts, names: NAMES });

  if (!request.stream) {
    return jsonResponse(
      opening,
      async ({ promptTokens, events }) => {
        const completion = new CompletionAnswer({ head, count, promptTokens, logprobs: hasLogprobs });
        for await (const event of events()) completion.push(event);
        return completion.whole();
      },
      scope.responseOptions,
    );
  }
  const withUsage = request.stream_options?.include_usage ?? false;
  return streamResponse(
    opening,
    async function* ({ promptTokens, events }): AsyncGenerator<Frame, void, void> {
      const completion = new CompletionAnswer({
        head,
        count,
        promptTokens,
        logprobs: hasLogprobs,
        withUsage,
      });
      for await (const event of events()) yield* completion.push(event);
      if (withUsage) yield completion.usageChunk();
      yield { data: '[DONE]' };
    },
    OPENAI_STREAM,
    scope.responseOptions,
  );
}
