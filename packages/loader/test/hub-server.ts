import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll } from 'vitest';

/** A request as received by the server. */
export interface SeenRequest {
  readonly path: string;
  readonly range: string | null;
  readonly token: string | null;
}

/** Answers a request for a file in place of the server; false = the server answers as usual. */
export type Misbehaviour = (request: {
  readonly path: string;
  /** Number of earlier requests for this path. */
  readonly count: number;
  readonly range: string | null;
  readonly content: Buffer;
  readonly response: ServerResponse;
}) => boolean;

/** A local stand-in for a model hub. */
export interface HubServer {
  readonly endpoint: string;
  readonly seen: SeenRequest[];
  /** Name of the one repository. */
  readonly repository: string;
  /** Its files, by path. */
  readonly files: Map<string, Buffer>;
  misbehave: Misbehaviour;
  /** Files whose list entry states a wrong hash. */
  readonly lies: Set<string>;
}

/** Commit of the branch `main`. */
export const COMMIT = '0123456789abcdef0123456789abcdef01234567';

/** Starts a hub that lives as long as the tests of the calling file. */
export async function startHub(
  files: Readonly<Record<string, Buffer | string>>,
  repository = 'org/name',
): Promise<HubServer> {
  const contents = Object.entries(files).map(([path, content]): [string, Buffer] => [
    path,
    Buffer.from(content),
  ]);
  const hub: HubServer & { endpoint: string } = {
    endpoint: '',
    repository,
    seen: [],
    files: new Map(contents),
    misbehave: () => false,
    lies: new Set(),
  };
  const server = createServer((request, response) => answer(hub, request, response));
  hub.endpoint = await listen(server);
  return hub;
}

/** Lets a server listen on 127.0.0.1; it is closed after the tests. */
export async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Sends a file, or the requested part of it, like a well-behaved server. */
export function sendFile(response: ServerResponse, content: Buffer, range: string | null): void {
  const begin = Number(/^bytes=(\d+)-/.exec(range ?? '')?.[1] ?? 0);
  const end = Math.min(Number(/-(\d+)$/.exec(range ?? '')?.[1] ?? content.length - 1), content.length - 1);
  if (range === null) {
    response.writeHead(200, { 'content-length': content.length }).end(content);
  } else if (begin >= content.length) {
    response.writeHead(416, { 'content-range': `bytes */${content.length}` }).end();
  } else {
    response
      .writeHead(206, {
        'content-length': end + 1 - begin,
        'content-range': `bytes ${begin}-${end}/${content.length}`,
      })
      .end(content.subarray(begin, end + 1));
  }
}

function answer(hub: HubServer, request: IncomingMessage, response: ServerResponse): void {
  const { pathname } = new URL(request.url ?? '/', 'http://hub');
  const range = request.headers.range ?? null;
  const path = decodeURIComponent(pathname);
  const count = hub.seen.filter((other) => other.path === path).length;
  hub.seen.push({ path, range, token: request.headers.authorization ?? null });
  const file = path.startsWith(`/${hub.repository}/resolve/${COMMIT}/`)
    ? path.split('/').slice(5).join('/')
    : null;
  const content = hub.files.get(file ?? '') ?? Buffer.from(listing(hub));
  if (hub.misbehave({ path: file ?? path, count, range, content, response })) return;
  if (file !== null && hub.files.has(file)) sendFile(response, content, range);
  else if (path === `/api/models/${hub.repository}/revision/main`) {
    response.writeHead(200, { 'content-type': 'application/json' }).end(content);
  } else response.writeHead(404).end();
}

function listing(hub: HubServer): string {
  const siblings = Array.from(hub.files, ([rfilename, content]) => {
    const size = content.length;
    const wrong = hub.lies.has(rfilename) ? 'x' : '';
    const blobId = createHash('sha1').update(`blob ${size}\0${wrong}`).update(content).digest('hex');
    if (!rfilename.endsWith('.safetensors')) return { rfilename, size, blobId };
    const sha256 = createHash('sha256').update(wrong).update(content).digest('hex');
    return { rfilename, size, blobId, lfs: { sha256, size, pointerSize: 134 } };
  });
  return JSON.stringify({ id: hub.repository, sha: COMMIT, siblings });
}
