import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stateFolder } from '../state-folder.js';

/** A server of this user. */
export interface RunningServer {
  readonly pid: number;
  /** Where it listens, without a path. */
  readonly url: string;
  /** The command that started it. */
  readonly command: 'serve' | 'playground';
  /** Name of the model in requests; null = the page decides. */
  readonly model: string | null;
  /** Milliseconds since 1970. */
  readonly startedAtMs: number;
}

/** What a server says about itself when it starts. */
export type ServerDescription = Omit<RunningServer, 'pid' | 'startedAtMs'>;

/**
 * Makes a server known to `markbase ps` until it ends. Where nothing can be written, it runs without being known.
 *
 * @returns what to call when the server ends
 */
export async function announceServer(description: ServerDescription): Promise<() => Promise<void>> {
  const path = fileOf(process.pid);
  const server: RunningServer = { ...description, pid: process.pid, startedAtMs: Date.now() };
  await mkdir(folder(), { recursive: true, mode: 0o700 })
    .then(() => writeFile(path, `${JSON.stringify(server)}\n`))
    .catch(() => {});
  return () => rm(path, { force: true }).catch(() => {});
}

/** Servers that are running, oldest first. What a killed one has left is removed. */
export async function runningServers(): Promise<RunningServer[]> {
  const names = await readdir(folder()).catch(() => []);
  const servers = await Promise.all(
    names
      .filter((name) => /^\d+\.json$/.test(name))
      .map(async (name) => {
        const pid = Number.parseInt(name, 10);
        const server = await readServer(fileOf(pid));
        if (server?.pid === pid && isAlive(pid)) return server;
        await rm(fileOf(pid), { force: true }).catch(() => {});
        return null;
      }),
  );
  return servers.filter((server) => server !== null).sort((a, b) => a.startedAtMs - b.startedAtMs);
}

function folder(): string {
  return join(stateFolder(), 'servers');
}

function fileOf(pid: number): string {
  return join(folder(), `${pid}.json`);
}

async function readServer(path: string): Promise<RunningServer | null> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as RunningServer;
  } catch {
    return null;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
