import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { InvalidArgumentError, type OptionNames } from '@markbase/core';

/** How to reach a model hub; everything is optional. */
export interface HubOptions {
  /** Branch, tag or commit; `main` by default. */
  readonly revision?: string;
  /** Address of the hub; `HF_ENDPOINT`, else https://huggingface.co. */
  readonly endpoint?: string;
  /** Access token; `HF_TOKEN` by default, null = none. It is sent only to the endpoint's own origin. */
  readonly token?: string | null;
  /** Aborts the transfer, which then throws the signal's reason; what has arrived is kept and resumed later. */
  readonly signal?: AbortSignal;
  /** Longest silence of the server in milliseconds; 30 s by default. */
  readonly stallTimeoutMs?: number;
  /** Retries after a failure without progress; 5 by default, and at most 1 while the server has never answered. */
  readonly maxRetries?: number;
  /** Pause before the first retry, doubled for each further one; 500 ms by default. */
  readonly retryDelayMs?: number;
}

/** The names of `HubOptions`. */
export const HUB_OPTIONS: OptionNames<HubOptions> = {
  revision: true,
  endpoint: true,
  token: true,
  signal: true,
  stallTimeoutMs: true,
  maxRetries: true,
  retryDelayMs: true,
};

/** `HubOptions` after defaults. */
export interface HubSettings {
  readonly revision: string;
  /** Without a trailing slash. */
  readonly endpoint: string;
  readonly token: string | null;
  readonly signal: AbortSignal | undefined;
  readonly stallTimeoutMs: number;
  readonly maxRetries: number;
  readonly retryDelayMs: number;
}

/** Fills in the defaults. @throws InvalidArgumentError for an invalid endpoint or revision */
export function hubSettings(options: HubOptions): HubSettings {
  const { env } = process;
  const endpoint = (options.endpoint ?? env.HF_ENDPOINT ?? 'https://huggingface.co').replace(/\/+$/, '');
  if (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol)) {
    throw new InvalidArgumentError({
      argument: 'endpoint',
      expected: 'an http or https address',
      received: endpoint,
    });
  }
  const token = checkedToken(options.token === undefined ? (env.HF_TOKEN ?? null) : options.token);
  return {
    revision: checkedRevision(options.revision ?? 'main'),
    endpoint,
    token,
    signal: options.signal,
    stallTimeoutMs: options.stallTimeoutMs ?? 30_000,
    maxRetries: options.maxRetries ?? 5,
    retryDelayMs: options.retryDelayMs ?? 500,
  };
}

/** Checks that a token can be used in a header. The token is never shown, whereas the platform's own error would quote it. */
function checkedToken(token: string | null): string | null {
  const trimmed = token?.trim() ?? '';
  if (trimmed === '') return null;
  if (/^[!-~]+$/.test(trimmed)) return trimmed;
  throw new InvalidArgumentError({
    argument: 'token',
    expected: 'visible ASCII characters',
    received: 'something else',
  });
}

/** Folder of the shared cache: `HF_HUB_CACHE`, else `HF_HOME/hub`, else `~/.cache/huggingface/hub`. */
export function defaultCacheDir(): string {
  const { HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME } = process.env;
  if (HF_HUB_CACHE) return resolve(HF_HUB_CACHE);
  if (HF_HOME) return resolve(HF_HOME, 'hub');
  return join(XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'huggingface', 'hub');
}

/** True when the environment forbids the network: `HF_HUB_OFFLINE` is 1, true, yes or on. */
export function isOfflineByDefault(): boolean {
  return /^(?:1|true|yes|on)$/i.test(process.env.HF_HUB_OFFLINE ?? '');
}

/** `org/name`, checked: both parts become part of a path and of an address. */
export function checkedRepository(repository: string): string {
  const isName = (part: string | undefined): boolean =>
    part !== undefined && /^[\w.-]{1,96}$/.test(part) && !/^[.-]|[.-]$|--|\.\./.test(part);
  const parts = repository.split('/');
  if (parts.length === 2 && parts.every(isName)) return repository;
  throw new InvalidArgumentError({
    argument: 'repository',
    expected: 'the name of a repository such as "google/gemma-4-e2b-it"',
    received: repository,
  });
}

/** True for a string that `checkedRepository` accepts and that does not look like a path on this machine. */
export function isRepositoryName(text: string): boolean {
  try {
    return checkedRepository(text) === text;
  } catch {
    return false;
  }
}

function checkedRevision(revision: string): string {
  const isSafe = /^[\w./-]{1,255}$/.test(revision) && !revision.split('/').some((part) => /^\.*$/.test(part));
  if (isSafe) return revision;
  throw new InvalidArgumentError({
    argument: 'revision',
    expected: 'a branch, a tag or a commit',
    received: revision,
  });
}
