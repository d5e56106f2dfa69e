import { parseJson } from '../files/read-json.js';
import { DownloadError } from './download-error.js';
import type { HttpClient } from './http-client.js';

/** A file of a repository, as the hub lists it. */
export interface RepositoryFile {
  /** Path within the repository, with `/`; checked to be a plain relative one. */
  readonly path: string;
  readonly sizeBytes: number;
  /** sha256 of the content for large files, else the id of the git blob: the names of blobs in the cache. */
  readonly blobId: string;
  readonly hash: 'sha256' | 'git-sha1';
}

/** A revision of a repository. */
export interface RepositoryInfo {
  /** Commit that the revision refers to. */
  readonly commit: string;
  readonly files: readonly RepositoryFile[];
}

/** Maximum size of the list of files, in bytes of JSON. */
export const MAX_LISTING_BYTES = 32 * 1024 * 1024;
/** Maximum number of files in a repository. */
export const MAX_REPOSITORY_FILES = 50_000;

/** Asks the hub for the commit and the files of a revision. */
export async function repositoryInfo(client: HttpClient, repository: string): Promise<RepositoryInfo> {
  const { endpoint, revision } = client.settings;
  const url = `${endpoint}/api/models/${repository}/revision/${encodeURIComponent(revision)}?blobs=true`;
  const json = await client.retry(() => getJson(client, url, MAX_LISTING_BYTES));
  const bad = (reason: string): never => {
    throw new DownloadError({ rule: 'BadAnswer', url, reason });
  };
  const { sha, siblings } = isObject(json) ? json : {};
  if (typeof sha !== 'string' || !/^[0-9a-f]{40,64}$/.test(sha)) return bad('it does not name a commit');
  if (!Array.isArray(siblings) || siblings.length > MAX_REPOSITORY_FILES) {
    return bad(`expected a list of at most ${MAX_REPOSITORY_FILES} files`);
  }
  const files = siblings.map((item) => parseFile(item, url, bad));
  const paths = new Set(files.map(({ path }) => path));
  if (paths.size !== files.length) return bad('it lists a file twice');
  return { commit: sha, files };
}

/** Address of a file at a commit. */
export function fileAddress(endpoint: string, repository: string, commit: string, path: string): string {
  return `${endpoint}/${repository}/resolve/${commit}/${path.split('/').map(encodeURIComponent).join('/')}`;
}

/** Reads a JSON answer of at most `maxBytes`. */
export async function getJson(client: HttpClient, url: string, maxBytes: number): Promise<unknown> {
  const answer = await client.get(url);
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer.chunks()) {
    size += chunk.length;
    if (size > maxBytes) {
      throw new DownloadError({ rule: 'BadAnswer', url, reason: `it has more than ${maxBytes} bytes` });
    }
    parts.push(chunk);
  }
  const bytes = Buffer.concat(parts);
  try {
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new DownloadError({ rule: 'BadAnswer', url, reason: 'it is not JSON', cause });
  }
}

function parseFile(item: unknown, url: string, bad: (reason: string) => never): RepositoryFile {
  const { rfilename: path, size, blobId, lfs } = isObject(item) ? item : {};
  if (typeof path !== 'string') return bad('it lists a file without a name');
  if (!isSafePath(path)) {
    throw new DownloadError({
      rule: 'UnsafeFileName',
      url,
      reason: `the file name ${JSON.stringify(path.slice(0, 120))} could lead out of the cache`,
    });
  }
  const large = isObject(lfs) ? lfs : null;
  const sizeBytes = large?.size ?? size;
  if (!Number.isSafeInteger(sizeBytes) || (sizeBytes as number) < 0) return bad(`${path} has no size`);
  const sha256 = large?.sha256 ?? large?.oid;
  if (large !== null) {
    if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256)) return bad(`${path} has no sha256`);
    return { path, sizeBytes: sizeBytes as number, blobId: sha256, hash: 'sha256' };
  }
  if (typeof blobId !== 'string' || !/^[0-9a-f]{40}$/.test(blobId)) return bad(`${path} has no blob id`);
  return { path, sizeBytes: sizeBytes as number, blobId, hash: 'git-sha1' };
}

/** True for a relative path of plain names, on every operating system. */
function isSafePath(path: string): boolean {
  if (path.length > 1024 || /[\p{Cc}\\:*?"<>|]/u.test(path)) return false;
  return path.split('/').every((part) => part.length > 0 && part.length < 256 && !/^\.+$|[. ]$/.test(part));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
