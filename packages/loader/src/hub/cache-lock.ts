import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, stat, unlink, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { accessError } from '../files/file-access.js';

/** How often the owner of a lock shows that it is alive. */
const HEARTBEAT_MS = 2_000;
/** Silence after which the owner is assumed dead. */
const STALE_MS = 30_000;
/** Longest time between the creation of a lock and the writing of its owner's name. */
const NAMELESS_MS = 2_000;
const POLL_MS = 100;

/** Who holds a lock: the content of its file. */
interface LockOwner {
  readonly pid: number;
  readonly host: string;
  readonly id: string;
}

/**
 * Runs `use` while no other process, and no other call in this one, holds the lock file.
 *
 * A lock whose owner died, here or on another machine that shares the folder, is broken. `onWait` is called once if
 * somebody else holds it.
 *
 * @throws the signal's reason while waiting
 */
export async function withLock<T>(
  path: string,
  signal: AbortSignal | undefined,
  use: () => Promise<T>,
  onWait?: () => void,
): Promise<T> {
  await mkdir(dirname(path), { recursive: true }).catch((cause: unknown) => {
    throw accessError(dirname(path), 'create', cause);
  });
  for (let waits = 0; !(await tryCreate(path)); waits++) {
    if (waits === 0) onWait?.();
    if (await isStale(path)) await breakLock(path);
    else await delay(POLL_MS, undefined, { signal });
    signal?.throwIfAborted();
  }
  const heartbeat = setInterval(() => {
    const now = new Date();
    // Lost heartbeats only matter if all of them fail for half a minute.
    utimes(path, now, now).catch(() => {});
  }, HEARTBEAT_MS);
  heartbeat.unref();
  try {
    return await use();
  } finally {
    clearInterval(heartbeat);
    await unlink(path).catch(() => {});
  }
}

/** Creates the lock file, or says that there is one. */
async function tryCreate(path: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx');
    const owner: LockOwner = { pid: process.pid, host: hostname(), id: randomBytes(8).toString('hex') };
    try {
      await file.writeFile(JSON.stringify(owner));
    } finally {
      await file.close();
    }
    return true;
  } catch (cause) {
    if (isCode(cause, 'EEXIST')) return false;
    throw accessError(path, 'lock', cause);
  }
}

async function isStale(path: string): Promise<boolean> {
  try {
    const { mtimeMs } = await stat(path);
    if (Date.now() - mtimeMs > STALE_MS) return true;
    const owner = parseOwner(await readFile(path, 'utf8'));
    // An owner that was killed before it could write its name.
    if (owner === null) return Date.now() - mtimeMs > NAMELESS_MS;
    return owner.host === hostname() && !isAlive(owner.pid);
  } catch (cause) {
    // It was released in the meantime.
    if (isCode(cause, 'ENOENT')) return false;
    throw accessError(path, 'look at', cause);
  }
}

/** Removes a lock if it is still stale once no other process can be removing it. */
async function breakLock(path: string): Promise<void> {
  const guard = `${path}.break`;
  if (!(await tryCreate(guard))) {
    if (await isStale(guard)) await unlink(guard).catch(() => {});
    return;
  }
  try {
    if (await isStale(path)) await unlink(path).catch(() => {});
  } finally {
    await unlink(guard).catch(() => {});
  }
}

/** Null while the owner has not written its name yet. */
function parseOwner(text: string): LockOwner | null {
  try {
    return JSON.parse(text) as LockOwner;
  } catch {
    return null;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (cause) {
    return !isCode(cause, 'ESRCH');
  }
}

function isCode(cause: unknown, code: string): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === code;
}
