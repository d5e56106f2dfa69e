import { InvalidArgumentError } from '@markbase/core';
import { RequestError } from '@markbase/server';
import { describeSchema, type JsonSchema } from '@markbase/text';
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { streamSSE } from 'hono/streaming';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { errorResponseOf } from './error-response.js';
import { fitReport } from './fit-report.js';
import { listFolders } from './folders.js';
import { knownModels } from './known-models.js';
import { machineOf } from './machine.js';
import type { ModelHost } from './model-host.js';
import { PerformanceHistory } from './performance-samples.js';
import { loadRequest } from './request-bodies.js';
import { measureRoofline } from './roofline.js';

const LONGEST_BODY = 64 * 1024;
/** Half of the time between two samples. */
const LOOK_MS = 250;

/** What the page needs in addition to the public APIs: loading models, and monitoring the machine. */
export function playgroundApi(host: ModelHost): Hono {
  const app = new Hono();
  const history = new PerformanceHistory(() => host.running?.model ?? null);
  let measuring: Promise<unknown> | null = null;
  app.use(bodyLimit({ maxSize: LONGEST_BODY, onError: refuseBody }));
  app.onError((error, context) => {
    const { status, body } = errorResponseOf(error);
    return context.json(body, status as ContentfulStatusCode);
  });
  app.get('/state', async (context) => {
    return context.json({ ...(await machineOf()), model: host.running?.description ?? null });
  });
  app.get('/models', async (context) => context.json(await knownModels()));
  // Pages ask every few seconds whether the server is there and which model it runs.
  app.get('/model', (context) => context.json({ model: host.running?.description ?? null }));
  app.post('/schema', async (context) => {
    const { schema } = (await jsonOf(context)) as { schema?: JsonSchema };
    const { reason } = await describeSchema(schema ?? {}, { signal: context.req.raw.signal });
    return context.json({ reason });
  });
  app.get('/folders', async (context) => context.json(await listFolders(context.req.query('path') ?? '')));
  app.post('/estimate', async (context) => {
    return context.json(await fitReport(loadRequest(await jsonOf(context)), context.req.raw.signal));
  });
  app.post('/load', async (context) => load(context, host, loadRequest(await jsonOf(context))));
  app.post('/unload', async (context) => {
    await host.unload();
    return context.json({ model: null });
  });
  app.get('/performance', (context) => performanceEvents(context, history));
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

/** Sends the samples of the last minute, and then each new one, until the reader leaves. */
function performanceEvents(context: Context, history: PerformanceHistory): Response {
  return streamSSE(context, async (stream) => {
    let sentMs = 0;
    while (!stream.aborted && !stream.closed) {
      for (const sample of history.since(sentMs)) {
        sentMs = sample.atMs;
        await stream.writeSSE({ event: 'sample', data: JSON.stringify(sample) });
      }
      await stream.sleep(LOOK_MS);
    }
  });
}
