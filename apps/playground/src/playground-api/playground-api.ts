import { InvalidArgumentError } from '@markbase/core';
import { RequestError } from '@markbase/server';
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { streamSSE } from 'hono/streaming';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { errorResponseOf } from './error-response.js';
import { fitReport } from './fit-report.js';
import { listFolders } from './folders.js';
import { machineOf } from './machine.js';
import type { ModelHost } from './model-host.js';
import { PerformanceSampler } from './performance-samples.js';
import { loadRequest } from './request-bodies.js';
import { measureRoofline } from './roofline.js';
import { suggestions } from './suggestions.js';

const LONGEST_BODY = 64 * 1024;
const SAMPLE_MS = 500;

/** What the page needs in addition to the public APIs: loading models, and monitoring the machine. */
export function playgroundApi(host: ModelHost): Hono {
  const app = new Hono();
  let measuring: Promise<unknown> | null = null;
  app.use(bodyLimit({ maxSize: LONGEST_BODY, onError: refuseBody }));
  app.onError((error, context) => {
    const { status, body } = errorResponseOf(error);
    return context.json(body, status as ContentfulStatusCode);
  });
  app.get('/state', async (context) => {
    const [machine, known] = await Promise.all([machineOf(), suggestions()]);
    return context.json({ ...machine, model: host.running?.description ?? null, suggestions: known });
  });
  app.get('/folders', async (context) => context.json(await listFolders(context.req.query('path') ?? '')));
  app.post('/estimate', async (context) => {
    return context.json(await fitReport(loadRequest(await jsonOf(context)), context.req.raw.signal));
  });
  app.post('/load', async (context) => load(context, host, loadRequest(await jsonOf(context))));
  app.get('/performance', (context) => performanceEvents(context, host));
  app.post('/roofline', async (context) => {
    const running = host.running;
    if (!running)
      throw new RequestError({ status: 404, message: 'No model is loaded', apiCode: 'model_not_found' });
    // Concurrent measurements would disturb each other.
    while (measuring) await measuring.catch(() => {});
    const measurement = measureRoofline(running.model, context.req.raw.signal);
    measuring = measurement;
    try {
      return context.json(await measurement);
    } finally {
      measuring = null;
    }
  });
  return app;
}

function refuseBody(): never {
  throw new RequestError({ status: 413, message: `The body is larger than ${LONGEST_BODY} bytes` });
}

async function jsonOf(context: Context): Promise<unknown> {
  try {
    return await context.req.json();
  } catch (cause) {
    throw new InvalidArgumentError({ argument: 'body', expected: 'JSON', received: 'something else', cause });
  }
}

/** Sends progress as events; closing the stream cancels the load. */
function load(context: Context, host: ModelHost, request: ReturnType<typeof loadRequest>): Response {
  return streamSSE(context, async (stream) => {
    const controller = new AbortController();
    stream.onAbort(() => controller.abort());
    const send = (event: string, data: unknown) => stream.writeSSE({ event, data: JSON.stringify(data) });
    try {
      await host.load(request, (progress) => void send('progress', progress), controller.signal);
      await send('ready', host.running?.description ?? null);
    } catch (error) {
      await send('error', errorResponseOf(error).body);
    }
  });
}

/** Sends a sample every half second, until the reader leaves. */
function performanceEvents(context: Context, host: ModelHost): Response {
  return streamSSE(context, async (stream) => {
    const sampler = new PerformanceSampler();
    while (!stream.aborted && !stream.closed) {
      await stream.writeSSE({
        event: 'sample',
        data: JSON.stringify(sampler.sample(host.running?.model ?? null)),
      });
      await stream.sleep(SAMPLE_MS);
    }
  });
}
