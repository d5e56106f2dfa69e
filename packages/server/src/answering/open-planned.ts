import { hasErrorCode, type InvalidArgumentError } from '@markbase/core';
import type { ChatMessage, OpenAnswer, openAnswers } from '@markbase/text';
import { RequestError } from '../errors/request-error.js';
import { type AnswerPlan, engineOptions } from './answer-plan.js';
import { parameterName } from './argument-names.js';

/**
 * Opens all answers of a plan.
 *
 * @throws RequestError (400) that names the parameter as the client spelled it, and the other errors of `open`
 */
export async function openPlanned(
  open: typeof openAnswers,
  plan: AnswerPlan,
  { messages, signal }: { messages: readonly ChatMessage[] | undefined; signal: AbortSignal },
): Promise<readonly OpenAnswer[]> {
  try {
    const requests = Array.from({ length: plan.count }, (_, index) =>
      engineOptions(plan, messages, index, signal),
    );
    return await open(plan.served.model, requests);
  } catch (error) {
    if (!plan.names) throw error;
    if (hasErrorCode(error, 'INVALID_ARGUMENT')) {
      const refusal = error as InvalidArgumentError;
      const param = parameterName(refusal.argument, plan.names);
      throw new RequestError({ status: 400, message: refusal.renamed(param).message, param, cause: error });
    }
    if (hasErrorCode(error, 'CONTEXT_LENGTH')) {
      const { message } = error as Error;
      const param = plan.names.prompt;
      throw new RequestError({
        status: 400,
        message,
        param,
        apiCode: 'context_length_exceeded',
        cause: error,
      });
    }
    throw error;
  }
}
