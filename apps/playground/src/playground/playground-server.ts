import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { type HttpBindings, serve } from '@hono/node-server';
import { checkCaller, checkKey } from '@markbase/server';
import { Hono } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { errorResponseOf } from '../playground-api/error-response.js';
import type { HostOptions } from '../playground-api/host-options.js';
import { ModelHost } from '../playground-api/model-host.js';
import { playgroundApi } from '../playground-api/playground-api.js';
import { pageFiles } from './page-files.js';

const PAGE_FOLDER = fileURLToPath(new URL('./page', import.meta.url));
const RETRY_SECONDS = 2;

/** A running playground. */
export interface Playground {
  /** Such as `http://127.0.0.1:8080`. */
  readonly address: string;
  readonly host: ModelHost;
  /** Lets running answers finish, frees the model and stops listening. */
  close(): Promise<void>;
}

/**
 * Serves the page, the playground's own API and the public APIs of the loaded model at one address.
 *
 * @throws the system's error, such as EADDRINUSE
 */
export async function startPlayground(
  options: HostOptions & { readonly port: number; readonly hostname: string },
): Promise<Playground> {
  const host = new ModelHost(options);
  const app = playgroundApp(host, options);
  const { port, hostname } = options;
  const [listener, address] = await new Promise<[ReturnType<typeof serve>, string]>((resolve, reject) => {
    const server = serve({ fetch: app.fetch, port, hostname }, (info: AddressInfo) => {
      server.off('error', reject);
      resolve([server, `http://${info.family === 'IPv6' ? `[${info.address}]` : info.address}:${info.port}`]);
    });
    server.on('error', reject);
  });
  const close = async () => {
    const closed = new Promise<void>((resolve) => {
      listener.close(() => resolve());
    });
    await host.close();
    // Pages that follow the performance stream never disconnect by themselves.
    if ('closeAllConnections' in listener) listener.closeAllConnections();
    await closed;
  };
  return { address, host, close };
}

/** The app without a listener. */
function playgroundApp(host: ModelHost, options: HostOptions): Hono<{ Bindings: Partial<HttpBindings> }> {
  const app = new Hono<{ Bindings: Partial<HttpBindings> }>();
  const guard = { allowedHosts: options.allowedHosts ?? [], allowedOrigins: [] };
  app.onError((error, context) => {
    const { status, body } = errorResponseOf(error);
    return context.json(body, status as ContentfulStatusCode);
  });
  app.use('*', async (context, next) => {
    checkCaller(context.req.raw, guard);
    await next();
  });
  app.use('/playground/*', async (context, next) => {
    checkKey(context.req.raw, { apiKey: options.apiKey ?? null });
    await next();
  });
  app.route('/playground/api', playgroundApi(host));
  app.route('/', pageFiles(PAGE_FOLDER));
  app.all('*', (context) => {
    const { server } = host;
    if (server) return server.app.fetch(context.req.raw, context.env);
    const message = host.isLoading
      ? 'A model is being loaded: try again later'
      : 'No model is loaded: choose one on the page';
    const body = { error: { message, type: 'server_error', code: 'model_not_loaded' } };
    return context.json(body, 503, { 'retry-after': String(RETRY_SECONDS) });
  });
  return app;
}
