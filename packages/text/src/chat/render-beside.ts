import { existsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { OutOfMemoryError } from '@markbase/core';
import { ChatTemplateError } from './chat-template-error.js';
import { stringifyExactJson } from './exact-json.js';

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

/** Time limit. Templates visit all messages for each message, so thousands of messages take minutes. */
const BUDGET_MS = 15_000;
const MAX_HEAP_MIB = 512;

/** Next to the bundle; for sources, as in tests, it is in the build. */
const WORKER = [
  new URL('./render-worker.js', import.meta.url),
  new URL('../../dist/render-worker.js', import.meta.url),
];

/** Jobs run one after the other, so that they never take more than one core from the engine. */
let last: Promise<unknown> = Promise.resolve();

/**
 * Renders a template in a worker thread, within 15 seconds.
 *
 * @throws ChatTemplateError if the template refuses the conversation or takes too long; OutOfMemoryError; the signal's
 *   reason
 */
export function renderBeside(template: RenderTemplate, input: object, signal?: AbortSignal): Promise<string> {
  const rendered = last.then(() => {
    signal?.throwIfAborted();
    return renderInThread(template, stringifyExactJson(input), signal);
  });
  last = rendered.catch(() => {});
  return rendered;
}

function renderInThread(
  { path, source, bosToken, eosToken }: RenderTemplate,
  input: string,
  signal: AbortSignal | undefined,
): Promise<string> {
  const request: RenderRequest = { path, source, bosToken, eosToken, input };
  const worker = new Worker(WORKER.find((url) => existsSync(url)) ?? WORKER[0]!, {
    workerData: request,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MIB },
  });
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      void worker.terminate();
      settle();
    };
    const refuse = (reason: string, cause?: unknown) =>
      end(() => reject(new ChatTemplateError({ path, reason, cause })));
    const onAbort = () => end(() => reject(signal!.reason));
    const seconds = BUDGET_MS / 1000;
    const timer = setTimeout(
      () => refuse(`rendering the conversation took longer than ${seconds} s: send fewer messages or tools`),
      BUDGET_MS,
    );
    signal?.addEventListener('abort', onAbort, { once: true });
    worker.on('message', (result: RenderResult) => {
      if ('text' in result) end(() => resolve(result.text));
      else refuse(result.reason);
    });
    worker.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ERR_WORKER_OUT_OF_MEMORY') return refuse(error.message, error);
      const label = 'rendering the conversation';
      end(() => reject(new OutOfMemoryError({ requestedBytes: MAX_HEAP_MIB * 2 ** 20, label })));
    });
  });
}
