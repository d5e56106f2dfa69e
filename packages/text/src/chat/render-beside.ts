import { JobFailure, type StartJob, ThreadLine } from '../run-beside.js';
import { ChatTemplateError } from './chat-template-error.js';
import { stringifyExactJson } from './exact-json.js';
import type { TemplateInput } from './template-input.js';

/** The input for rendering a template. */
interface RenderTemplate {
  /** File that contains the template, for errors. */
  readonly path: string;
  readonly source: string;
  readonly bosToken: string;
  readonly eosToken: string;
}

/** The worker's input; `input` is JSON with every digit. */
export interface RenderRequest extends RenderTemplate {
  readonly input: string;
}

/** The worker's result: the text, or why the template refuses. */
export type RenderResult = { readonly text: string } | { readonly reason: string };

const line = new ThreadLine('render-worker.js', 512);

/**
 * Renders a template in a worker thread, within 15 seconds.
 *
 * @throws ChatTemplateError if the template refuses the conversation or takes too long; OutOfMemoryError; the signal's
 *   reason
 */
export function renderBeside(
  { path, source, bosToken, eosToken }: RenderTemplate,
  input: TemplateInput,
  signal?: AbortSignal,
): Promise<string> {
  const render = async (start: StartJob) => {
    const data: RenderRequest = { path, source, bosToken, eosToken, input: stringifyExactJson(input) };
    const result = await start<RenderResult>({ label: 'rendering the conversation', data }).catch(
      (error: unknown) => {
        if (!(error instanceof JobFailure)) throw error;
        const reason = error.isTooLong ? `${error.reason}: send fewer messages or tools` : error.reason;
        throw new ChatTemplateError({ path, reason, cause: error.cause });
      },
    );
    if ('text' in result) return result.text;
    throw new ChatTemplateError({ path, reason: result.reason });
  };
  // Templates visit all messages for each message: a few conversations of thousands must not hold up the others.
  return line.inTurn(signal, render, input.messages.length);
}
