import path from 'node:path';
import { InvalidArgumentError } from '@markbase/core';
import type { MediaEncoder, TextModel } from '@markbase/text';
import type { Logger } from './logger.js';

/** A model under the name that clients use. */
export interface ServedModel {
  readonly id: string;
  readonly model: TextModel;
  /** Encoders of images and sounds; without one, media are refused. */
  readonly media?: MediaEncoder;
}

/** Limits that keep one client, or many, from taking all of the machine. */
export interface ServerLimits {
  /** Answers of a model that run at once; default: its `maxSequences`. */
  readonly concurrent?: number;
  /** Answers of a model that may wait; beyond, requests get 429. Default 256. */
  readonly queue: number;
  /** Longest body; default 32 MiB. */
  readonly bodyBytes: number;
  /** Longest image, sound or video that is fetched or sent; default 20 MiB. */
  readonly mediaBytes: number;
  /** Media of one request; default 32. */
  readonly mediaParts: number;
  /** Answers of one request (`n`); default 8. */
  readonly choices: number;
  /** Longest wait for the body of a medium from another server; default 10 s. */
  readonly fetchMs: number;
  /** Silence after which a stream says that it is alive; default 10 s. */
  readonly keepAliveMs: number;
  /** Longest wait before the headers of a stream go out while a request is still being checked; default 2 s. */
  readonly headersAfterMs: number;
  /** A client that takes nothing for so long is given up; default 60 s. */
  readonly stallMs: number;
  /** How long `close` lets running answers go on; default 30 s. */
  readonly drainMs: number;
}

/** Options of `createServer`. */
export interface ServerOptions {
  /** The model; or several, under names. */
  readonly model?: TextModel | ServedModel;
  readonly models?: readonly ServedModel[];
  /** Encoders of `model`, where it is a bare one. */
  readonly media?: MediaEncoder;
  /** Key that clients must send as a bearer token or as `x-api-key`; default: none is asked for. */
  readonly apiKey?: string;
  /** Origins of web pages that may call, such as `https://app.example`; default: none but the server's own. */
  readonly allowedOrigins?: readonly string[];
  /** Names under which the server may be called, besides those of this machine; '*' = any. */
  readonly allowedHosts?: readonly string[];
  /** Hosts from which images may be fetched; default: none. */
  readonly allowedImageHosts?: readonly string[];
  readonly limits?: Partial<ServerLimits>;
  /** Told about requests and failures; default: nobody. */
  readonly logger?: Logger;
  /** Milliseconds since 1970, for the dates in answers; durations do not depend on it. */
  readonly clock?: () => number;
}

/** Options after defaults and checks. */
export interface ServerSettings
  extends Required<Pick<ServerOptions, 'allowedOrigins' | 'allowedHosts' | 'allowedImageHosts' | 'clock'>> {
  readonly models: readonly ServedModel[];
  readonly apiKey: string | null;
  readonly limits: ServerLimits;
  readonly logger: Logger | null;
}

const MIB = 1024 * 1024;

const DEFAULT_LIMITS: ServerLimits = {
  queue: 256,
  bodyBytes: 32 * MIB,
  mediaBytes: 20 * MIB,
  mediaParts: 32,
  choices: 8,
  fetchMs: 10_000,
  keepAliveMs: 10_000,
  headersAfterMs: 2000,
  stallMs: 60_000,
  drainMs: 30_000,
};

/** Completes and checks the options of a server. @throws InvalidArgumentError */
export function checkedOptions(options: ServerOptions): ServerSettings {
  const limits = { ...DEFAULT_LIMITS, ...withoutUndefined(options.limits ?? {}) };
  for (const [name, value] of Object.entries(limits)) {
    const least = name === 'queue' ? 0 : 1;
    if (Number.isSafeInteger(value) && value >= least) continue;
    throw new InvalidArgumentError({
      argument: `limits.${name}`,
      expected: `a whole number of at least ${least}`,
      received: value,
    });
  }
  if (options.apiKey === '') {
    throw new InvalidArgumentError({ argument: 'apiKey', expected: 'a key that is not empty', received: '' });
  }
  return {
    models: servedModels(options),
    apiKey: options.apiKey ?? null,
    allowedOrigins: options.allowedOrigins ?? [],
    allowedHosts: (options.allowedHosts ?? []).map((host) => host.toLowerCase()),
    allowedImageHosts: (options.allowedImageHosts ?? []).map((host) => host.toLowerCase()),
    limits,
    logger: options.logger ?? null,
    clock: options.clock ?? Date.now,
  };
}

function servedModels({ model, models = [], media }: ServerOptions): ServedModel[] {
  const single = model === undefined ? [] : [isServed(model) ? model : withName(model, media)];
  const all = [...single, ...models];
  const ids = new Set(all.map(({ id }) => id));
  if (all.length === 0 || ids.size < all.length) {
    throw new InvalidArgumentError({
      argument: 'models',
      expected: 'at least one model, each with a name of its own',
      received: all.map(({ id }) => id),
    });
  }
  return all;
}

function isServed(model: TextModel | ServedModel): model is ServedModel {
  return 'id' in model;
}

function withName(model: TextModel, media: MediaEncoder | undefined): ServedModel {
  return { id: path.basename(model.checkpoint.directory), model, ...(media && { media }) };
}

function withoutUndefined<Value extends object>(value: Value): Partial<Value> {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as Partial<Value>;
}
