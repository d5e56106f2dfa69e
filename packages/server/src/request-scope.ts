import { randomUUID } from 'node:crypto';
import type { AnswerPlan } from './answering/answer-plan.js';
import type { AnswerControl, AnswerPlace, AnswerRunner, Opening } from './answering/answer-runner.js';
import { checkCounts } from './errors/check-counts.js';
import { RequestError } from './errors/request-error.js';
import { requestErrorOf } from './errors/request-error-of.js';
import type { AnswerResponseOptions } from './http/answer-response.js';
import { linkedAbort } from './http/linked-abort.js';
import { type Form, readForm } from './http/read-form.js';
import { readJson } from './http/read-json.js';
import type { ByteBudget, ByteClaim } from './limits/byte-budget.js';
import type { ServerMetrics } from './metrics.js';
import type { ServedModel, ServerSettings } from './server-options.js';

/** Options of `RequestScope`. */
export interface RequestScopeOptions {
  readonly request: Request;
  /** Identifies the client for queueing: one client's requests do not hold up another's. */
  readonly client: string;
  readonly requestId: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Formats an error for the API. */
  readonly errorBody: (error: unknown) => object;
  readonly settings: ServerSettings;
  readonly runner: AnswerRunner;
  readonly bytes: ByteBudget;
  readonly metrics: ServerMetrics;
  /** When the server was created, in seconds since 1970. */
  readonly startedSeconds: number;
}

/** One request: its body, its model and its answer, which stops when the client leaves or the server closes. */
export class RequestScope {
  readonly settings: ServerSettings;
  readonly responseOptions: AnswerResponseOptions;
  readonly #options: RequestScopeOptions;
  readonly #control: AnswerControl;
  readonly #claim: ByteClaim;

  constructor(options: RequestScopeOptions) {
    const { request, headers, settings, requestId } = options;
    this.settings = settings;
    this.#options = options;
    this.#control = linkedAbort(request.signal);
    this.#claim = options.bytes.claim(options.client);
    this.responseOptions = {
      limits: settings.limits,
      headers,
      signal: this.#control.signal,
      isContended: () => options.runner.isContended,
      errorBody: options.errorBody,
      abort: () => this.#control.abort(clientLeft()),
      onLateError: (error) => {
        if (!request.signal.aborted)
          logFailure(settings, error, { requestId, route: new URL(request.url).pathname });
      },
    };
  }

  /** Reads the JSON body and checks it against the limits. @throws RequestError */
  async json(): Promise<unknown> {
    const { limits } = this.settings;
    const body = await readJson(this.#options.request, { limits, claim: this.#claim });
    checkCounts(body, limits);
    return body;
  }

  /** Reads the body as a form. @throws RequestError */
  form(): Promise<Form> {
    return readForm(this.#options.request, { limits: this.settings.limits, claim: this.#claim });
  }

  /** The model with this name. @throws RequestError (404) */
  served(id: string): ServedModel {
    const found = this.settings.models.find((served) => served.id === id);
    if (found) return found;
    const known = this.settings.models.map((served) => served.id).join(', ');
    const message = `The model '${id}' does not exist; this server has: ${known}`;
    throw new RequestError({ status: 404, message, param: 'model', apiCode: 'model_not_found' });
  }

  /** Waits for the request's turn and checks it; then the memory of its body and media is released. */
  open(plan: AnswerPlan): Opening {
    const opening = this.#options.runner.open(plan, this.#place());
    const release = () => this.release();
    opening.answer.then(release, release);
    return opening;
  }

  /** Waits for a slot of the model. `leave` releases it, and the memory of the body. */
  async enter(served: ServedModel): Promise<{ readonly signal: AbortSignal; readonly leave: () => void }> {
    const leave = await this.#options.runner.enter(served, this.#place());
    return {
      signal: this.#control.signal,
      leave: () => {
        leave();
        this.release();
      },
    };
  }

  /** Counts the prompt tokens of a request. */
  async countTokens(plan: AnswerPlan): Promise<number> {
    try {
      return await this.#options.runner.countTokens(plan, this.#place());
    } finally {
      this.release();
    }
  }

  /** Releases the bytes that the body counts in the budget. */
  release(): void {
    this.#claim.release();
  }

  #place(): AnswerPlace {
    const { client, metrics } = this.#options;
    return { client, control: this.#control, claim: this.#claim, metrics };
  }

  /** Seconds since 1970. */
  nowSeconds(): number {
    return Math.floor(this.settings.clock() / 1000);
  }

  /** When the server was created, in seconds since 1970. */
  get startedSeconds(): number {
    return this.#options.startedSeconds;
  }

  /** A new identifier that begins with `prefix`. */
  newId(prefix: string): string {
    return `${prefix}${randomUUID().replaceAll('-', '')}`;
  }
}

/** Not a failure of the server; nginx logs the same status when a client disconnects. */
function clientLeft(): RequestError {
  return new RequestError({ status: 499, message: 'The client left', apiCode: 'client_left' });
}

/** Logs an error unless the client caused it. */
export function logFailure(
  { logger }: Pick<ServerSettings, 'logger'>,
  error: unknown,
  fields: Readonly<Record<string, string>>,
): void {
  const { status, message, cause } = requestErrorOf(error);
  if (status >= 500) logger?.error(message, { ...fields, status }, cause ?? error);
}
