import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { type HttpBindings, type ServerType, serve } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { AnswerRunner } from './answering/answer-runner.js';
import { anthropicError } from './anthropic/anthropic-error.js';
import { countMessageTokens, createMessage } from './anthropic/create-message.js';
import { chatCompletions } from './chat/chat-completions.js';
import { completions } from './completions/completions.js';
import { RequestError } from './errors/request-error.js';
import { requestErrorOf } from './errors/request-error-of.js';
import { openAiError } from './http/answer-response.js';
import { clientName } from './http/client-name.js';
import { checkCaller, checkKey, corsHeaders } from './http/guard.js';
import { discardBody } from './http/read-bytes.js';
import { ByteBudget } from './limits/byte-budget.js';
import { ServerMetrics } from './metrics.js';
import { listModels, retrieveModel } from './models/list-models.js';
import { logFailure, RequestScope } from './request-scope.js';
import { createResponse } from './responses/create-response.js';
import { checkedOptions, type ServerOptions, type ServerSettings } from './server-options.js';
import { transcriptions, translations } from './transcriptions/transcriptions.js';

/** The address to listen on. */
export interface ListenOptions {
  /** Default 8080; 0 = any free port. */
  readonly port?: number;
  /** Default 127.0.0.1: reachable from this machine only. */
  readonly hostname?: string;
}

const CLIENT_LEFT = 499;
/** Part of the drain time that is reserved for the last events of answers that are cut off. */
const LAST_EVENTS_MS = 1000;
const LEAST_END_MS = 500;
const CLOSE_MS = 50;

type Route = (scope: RequestScope, context: Context) => Response | Promise<Response>;

/** Formats errors for one of the APIs. */
type ErrorStyle = (error: unknown, requestId: string) => object;

/** HTTP APIs for models. The models belong to the caller, who disposes them after `close`. */
export class Server {
  /** The app without a listener: mount it elsewhere or call it in tests. */
  readonly app = new Hono<{ Bindings: Partial<HttpBindings> }>();
  readonly #settings: ServerSettings;
  readonly #runner: AnswerRunner;
  readonly #bytes: ByteBudget;
  readonly #metrics: ServerMetrics;
  readonly #startedSeconds: number;
  #listener: ServerType | null = null;
  #closing: Promise<void> | null = null;

  constructor(options: ServerOptions) {
    this.#settings = checkedOptions(options);
    this.#runner = new AnswerRunner(this.#settings);
    const { bodiesBytes, bodyBytes } = this.#settings.limits;
    this.#bytes = new ByteBudget(bodiesBytes, bodyBytes);
    this.#startedSeconds = Math.floor(this.#settings.clock() / 1000);
    const devices = this.#settings.models.map(({ id, model }) => [id, model.device.info.kind] as const);
    this.#metrics = new ServerMetrics(() => this.#runner.gauges(), Object.fromEntries(devices));
    this.#addRoutes();
  }

  /** Answers a request, with the signature of `fetch`. */
  readonly fetch = (request: Request): Response | Promise<Response> => this.app.fetch(request);

  /**
   * Listens for requests.
   *
   * @returns the URL, such as `http://127.0.0.1:8080`
   * @throws the operating system's error, such as EADDRINUSE
   */
  listen({ port = 8080, hostname = '127.0.0.1' }: ListenOptions = {}): Promise<string> {
    return new Promise((resolve, reject) => {
      const listener = serve({ fetch: this.app.fetch, port, hostname }, (info: AddressInfo) => {
        listener.off('error', reject);
        resolve(`http://${info.family === 'IPv6' ? `[${info.address}]` : info.address}:${info.port}`);
      });
      listener.on('error', reject);
      this.#listener = listener;
    });
  }

  /**
   * Refuses new requests (503), lets running answers finish, stops the rest, and completes within `limits.drainMs`.
   * Streams that are cut off end with an error event. The server keeps listening until the last answer has ended.
   */
  close(): Promise<void> {
    this.#closing ??= this.#drain();
    return this.#closing;
  }

  async #drain(): Promise<void> {
    const { logger, limits } = this.#settings;
    logger?.info('closing', { answers: this.#runner.busy });
    const beganMs = performance.now();
    const idleUntil = async (timeMs: number) => {
      while (this.#runner.busy > 0 && performance.now() < timeMs) await wait(10);
    };
    const cutMs = beganMs + Math.max(limits.drainMs - LAST_EVENTS_MS, limits.drainMs / 2);
    const endMs = Math.max(beganMs + limits.drainMs, cutMs + LEAST_END_MS);
    // The listener stays open so that /ready can report it.
    await idleUntil(cutMs);
    this.#runner.stop(closing());
    await idleUntil((cutMs + endMs) / 2);
    await this.#endListener(endMs);
  }

  /** Closes the listener when the last bytes are sent, or at that time. */
  async #endListener(endMs: number): Promise<void> {
    const listener = this.#listener;
    if (!listener || !('closeIdleConnections' in listener)) return;
    const closed = new Promise<void>((resolve) => {
      listener.close(() => resolve());
    });
    let isClosed = false;
    closed.then(() => {
      isClosed = true;
    });
    while (!isClosed && performance.now() < endMs - CLOSE_MS) {
      listener.closeIdleConnections();
      await wait(10);
    }
    listener.closeAllConnections();
    await closed;
  }

  #addRoutes(): void {
    const { app } = this;
    const post = (path: string, route: Route, style?: ErrorStyle) => {
      app.post(path, (context) => this.#answer(context, path, route, style));
    };
    const get = (path: string, route: Route, style?: ErrorStyle) => {
      app.get(path, (context) => this.#answer(context, path, route, style));
    };
    post('/v1/chat/completions', chatCompletions);
    post('/v1/completions', completions);
    post('/v1/responses', createResponse);
    post('/v1/audio/transcriptions', transcriptions);
    post('/v1/audio/translations', translations);
    post('/v1/messages', createMessage, anthropicError);
    post('/v1/messages/count_tokens', countMessageTokens, anthropicError);
    get('/v1/models', listModels);
    get('/v1/models/:id{.+}', (scope, context) => retrieveModel(scope, context.req.param('id') ?? ''));
    get('/metrics', async () => {
      return new Response(this.#metrics.text(), {
        headers: { 'content-type': this.#metrics.contentType },
      });
    });
    app.get('/health', (context) => context.json({ status: 'ok' }));
    app.get('/ready', (context) =>
      this.#closing
        ? context.json({ status: 'closing' }, 503, { connection: 'close' })
        : context.json({ status: 'ready' }),
    );
    app.options('*', (context) => this.#preflight(context.req.raw));
    app.notFound((context) => this.#answer(context, 'unknown', notFound));
  }

  async #answer(
    context: Context,
    name: string,
    route: Route,
    style: ErrorStyle = styleOf(context),
  ): Promise<Response> {
    const settings = this.#settings;
    const request = context.req.raw;
    const requestId = `req_${randomUUID().replaceAll('-', '')}`;
    const headers = { 'x-request-id': requestId, 'request-id': requestId, ...corsHeaders(request, settings) };
    let status = 200;
    let scope: RequestScope | null = null;
    try {
      checkCaller(request, settings);
      checkKey(request, settings);
      if (this.#closing) throw closing();
      scope = new RequestScope({
        request,
        client: clientOf(context),
        requestId,
        headers,
        errorBody: (error) => style(error, requestId),
        settings,
        runner: this.#runner,
        bytes: this.#bytes,
        metrics: this.#metrics,
        startedSeconds: this.#startedSeconds,
      });
      return await route(scope, context);
    } catch (error) {
      scope?.release();
      if (request.signal.aborted) {
        // Nobody reads this response; nginx logs the same status when a client disconnects.
        status = CLIENT_LEFT;
        return new Response(null, { status });
      }
      await discardBody(request, settings.limits.bodyBytes);
      const failure = requestErrorOf(error);
      status = failure.status;
      logFailure(settings, error, { requestId, route: name });
      const answer = Response.json(style(error, requestId), { status, headers });
      if (failure.retryAfterSeconds !== null)
        answer.headers.set('retry-after', `${failure.retryAfterSeconds}`);
      // The unread rest of a refused body would be parsed as the next request.
      if (failure.closesConnection || status === 503) answer.headers.set('connection', 'close');
      return answer;
    } finally {
      this.#metrics.request(name, status);
      settings.logger?.info('request', { requestId, route: name, status });
    }
  }

  #preflight(request: Request): Response {
    const headers = corsHeaders(request, this.#settings);
    return new Response(null, { status: Object.keys(headers).length > 0 ? 204 : 403, headers });
  }
}

/** Creates a server that does not listen yet. @throws InvalidArgumentError for invalid options */
export function createServer(options: ServerOptions): Server {
  return new Server(options);
}

/** Anthropic's paths and clients get errors in its format. */
function styleOf({ req }: Context): ErrorStyle {
  const isAnthropic =
    /^\/v1\/messages(?:\/|$)/.test(req.path) || req.header('anthropic-version') !== undefined;
  return isAnthropic ? anthropicError : openAiError;
}

function notFound(_scope: RequestScope, context: Context): never {
  const message = `There is no route ${context.req.method} ${context.req.path}`;
  throw new RequestError({ status: 404, message, apiCode: 'not_found' });
}

function closing(): RequestError {
  return new RequestError({
    status: 503,
    message: 'The server is shutting down',
    apiCode: 'shutting_down',
    retryAfterSeconds: 5,
  });
}

/** Clients are told apart by their IP address; without a listener, all requests count as one client's. */
function clientOf(context: Context): string {
  const { incoming } = (context.env ?? {}) as Partial<HttpBindings>;
  return clientName(incoming?.socket?.remoteAddress);
}

function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}
