import { modelPath } from '@markbase/demo-model';
import { openDevice } from '@markbase/metal-runtime';
import { loadTextModel, type TextModel, type TextModelOptions } from '@markbase/text';
import OpenAI from 'openai';
import { beforeAll } from 'vitest';
import { createServer, type Server, type ServerOptions } from '../src/index.js';

/** A server for the demo model, and a client for it. */
export interface DemoServer {
  readonly model: TextModel;
  readonly server: Server;
  readonly url: string;
  readonly client: OpenAI;
}

/** Serves the demo model as `demo` for the tests in a file. */
export function serveDemo(
  options: Omit<ServerOptions, 'model'> = {},
  modelOptions: TextModelOptions = {},
): DemoServer {
  const demo = {} as { -readonly [Key in keyof DemoServer]: DemoServer[Key] };
  beforeAll(async () => {
    const device = await openDevice({ kind: 'cpu', threads: 2 });
    demo.model = await loadTextModel(modelPath, device, {
      maxSequences: 8,
      contextTokens: 1024,
      ...modelOptions,
    });
    const { media, ...rest } = options;
    demo.server = createServer({
      model: { id: 'demo', model: demo.model, ...(media && { media }) },
      ...rest,
    });
    demo.url = await demo.server.listen({ port: 0 });
    demo.client = new OpenAI({ baseURL: `${demo.url}/v1`, apiKey: options.apiKey ?? 'none', maxRetries: 0 });
    return async () => {
      await demo.server.close();
      demo.model.dispose();
      device.dispose();
    };
  });
  return demo;
}
