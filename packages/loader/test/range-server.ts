import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A request as received by the server. */
export interface SeenRequest {
  readonly range: string | undefined;
  readonly authorization: string | undefined;
  readonly host: string | undefined;
}

/** Answers a request; `begin` and `end` (exclusive) are the requested bytes, within the file. */
export type Answer = (
  response: ServerResponse,
  begin: number,
  end: number,
  request: IncomingMessage,
) => void | Promise<void>;

/** Starts a server on 127.0.0.1 that lives as long as the test, and answers with `answer`. */
export async function rangeServer(
  file: Uint8Array,
  answer: Answer = (response, begin, end) => sendRange(response, file, begin, end),
): Promise<{ readonly url: URL; readonly seen: SeenRequest[] }> {
  const seen: SeenRequest[] = [];
  const server = createServer((request, response) => {
    const { range, authorization, host } = request.headers;
    seen.push({ range, authorization, host });
    const [, begin, last] = /^bytes=(\d+)-(\d+)$/.exec(range ?? '') ?? [];
    void answer(response, Number(begin), Math.min(Number(last) + 1, file.length), request);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: new URL(`http://127.0.0.1:${port}/model.safetensors?signature=secret`), seen };
}

/** A correct response, with the given headers replaced. */
export function sendRange(
  response: ServerResponse,
  file: Uint8Array,
  begin: number,
  end: number,
  headers: Readonly<Record<string, string>> = {},
): void {
  const range = `bytes ${begin}-${end - 1}/${file.length}`;
  response.writeHead(206, { 'content-range': range, etag: '"1"', ...headers });
  response.end(file.subarray(begin, end));
}
