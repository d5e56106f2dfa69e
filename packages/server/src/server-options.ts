import path from 'node:path';
import { checkOptionNames, InvalidArgumentError, type OptionNames } from '@markbase/core';
import { type MediaEncoder, openAnswers, type TextModel } from '@markbase/text';
import type { Logger } from './logger.js';
import type { Transcriber } from './transcriptions/transcriber.js';

/** A model and the name that clients use for it. */
export interface ServedModel {
  /** Name of the model in requests. */
  readonly id: string;
  /** The text model that answers. */
  readonly model: TextModel;
  /** Name of the adapter that answers, of those that the model was loaded with; default: none. */
  readonly adapter?: string;
  /** Encoders of images, video and sound. Media without an encoder are refused. */
  readonly media?: MediaEncoder;
  /** Answers `/v1/audio/transcriptions`; without it, that is refused. */
  readonly transcribe?: Transcriber;
}

/** Limits that keep one client, or many, from exhausting the machine. */
export interface ServerLimits {
  /** Answers per model that run at once; default: its `maxSequences`. */
  readonly concurrent?: number;
  /** Answers per model that may wait; further requests get status 429. Default 256. */
  readonly queue: number;
  /** Maximum size of a request body; default 32 MiB. */
  readonly bodyBytes: number;
  /** Maximum size of a body without its long ASCII strings, such as base64; default 8 MiB. */
  readonly textBytes: number;
  /** Maximum size of the bodies and media of all requests that are being read or waiting; default 256 MiB. */
  readonly bodiesBytes: number;
  /** Maximum number of values and keys in a body; default 100,000. */
  readonly bodyValues: number;
  /** Timeout for receiving a body; default 2 minutes. */
  readonly bodyMs: number;
  /** Maximum number of messages, or items of `input`, per request; default 4096. */
  readonly messages: number;
  /**
   * Maximum number of parts, calls and other entries of all messages, and of entries in any other list or map; default
   * 8192.
   */
  readonly parts: number;
  /** Maximum number of tools per request; default 512. */
  readonly tools: number;
  /** Maximum number of values in a JSON schema; default 10,000. */
  readonly schemaValues: number;
  /** Maximum size of an image, sound or video, sent or fetched; default 20 MiB. */
  readonly mediaBytes: number;
  /** Maximum number of media in a request; default 32. */
  readonly mediaParts: number;
  /** Maximum number of answers per request (`n`); default 8. */
  readonly choices: number;
  /** Timeout for fetching a medium from another server; default 10 s. */
  readonly fetchMs: number;
  /** Time without output after which a stream sends a keep-alive; default 10 s. */
  readonly keepAliveMs: number;
  /** A stream sends its headers after this time even if the request is still being checked; default 2 s. */
  readonly headersAfterMs: number;
  /** A client that reads nothing for this long is disconnected; default 60 s. */
  readonly stallMs: number;
  /** The same while other requests wait for a slot; default 5 s. */
  readonly stallBusyMs: number;
  /** Time in which `close` completes; running answers may take all but its last second. Default 30 s. */
  readonly drainMs: number;
}

/** Options of `createServer`. */
export interface ServerOptions {
  /** The model; use `models` for several. */
  readonly model?: TextModel | ServedModel;
  /** The models, if there are several. */
  readonly models?: readonly ServedModel[];
  /** Encoders for `model`, if it is a bare `TextModel`. */
  readonly media?: MediaEncoder;
  /** Key that clients must send as a bearer token or as `x-api-key`; default: no key required. */
  readonly apiKey?: string;
  /** Origins whose web pages may call the server, such as `https://app.example`; default: only its own. */
  readonly allowedOrigins?: readonly string[];
  /** Further host names under which the server may be called, besides this machine's own; '*' = any. */
  readonly allowedHosts?: readonly string[];
  /** Hosts that images may be fetched from; default: none. */
  readonly allowedImageHosts?: readonly string[];
  /** Checks requests and starts their answers; default: `openAnswers` of `@markbase/text`. */
  readonly openAnswers?: typeof openAnswers;
  /** Limits that differ from the defaults. */
  readonly limits?: Partial<ServerLimits>;
  /** Receives log entries about requests and failures; default: none. */
  readonly logger?: Logger;
  /** Milliseconds since 1970, used for dates in answers but not for durations. */
  readonly clock?: () => number;
}

/** Options with defaults filled in, checked. */
export interface ServerSettings
  extends Required<Pick<ServerOptions, 'allowedOrigins' | 'allowedHosts' | 'allowedImageHosts' | 'clock'>> {
  readonly models: readonly ServedModel[];
  readonly apiKey: string | null;
  readonly limits: ServerLimits;
  readonly logger: Logger | null;
  readonly openAnswers: typeof openAnswers;
}

const OPTIONS: OptionNames<ServerOptions> = {
  model: true,
  models: true,
  media: true,
  apiKey: true,
  allowedOrigins: true,
  allowedHosts: true,
  allowedImageHosts: true,
  openAnswers: true,
  limits: true,
  logger: true,
  clock: true,
};
const MIB = 1024 * 1024;

const DEFAULT_LIMITS: ServerLimits = {
  queue: 256,
  bodyBytes: 32 * MIB,
  textBytes: 8 * MIB,
  bodiesBytes: 256 * MIB,
  bodyValues: 100_000,
  bodyMs: 120_000,
  messages: 4096,
  parts: 8192,
  tools: 512,
  schemaValues: 10_000,
  mediaBytes: 20 * MIB,
  mediaParts: 32,
  choices: 8,
  fetchMs: 10_000,
  keepAliveMs: 10_000,
  headersAfterMs: 2000,
  stallMs: 60_000,
  stallBusyMs: 5000,
  drainMs: 30_000,
};

const LIMITS = Object.fromEntries(
  ['concurrent', ...Object.keys(DEFAULT_LIMITS)].map((name) => [name, true as const]),
);

/** Fills in defaults and checks the options of a server. @throws InvalidArgumentError */
export function checkedOptions(options: ServerOptions): ServerSettings {
  checkOptionNames(options, OPTIONS);
  checkOptionNames(options.limits ?? {}, LIMITS, { prefix: 'limits.' });
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
    throw new InvalidArgumentError({ argument: 'apiKey', expected: 'a non-empty key', received: '' });
  }
  return {
    models: servedModels(options),
    apiKey: options.apiKey ?? null,
    allowedOrigins: checked(
      'allowedOrigins',
      options.allowedOrigins,
      isOrigin,
      'an origin, such as https://example.org',
    ),
    allowedHosts: checked('allowedHosts', options.allowedHosts, isHostName, 'a host name, or *').map(lower),
    allowedImageHosts: checked(
      'allowedImageHosts',
      options.allowedImageHosts,
      isHost,
      'host or host:port',
    ).map(lower),
    limits,
    logger: options.logger ?? null,
    openAnswers: options.openAnswers ?? openAnswers,
    clock: options.clock ?? Date.now,
  };
}

/** Entries that could never match anything are mistakes. @throws InvalidArgumentError */
function checked(
  argument: string,
  entries: readonly string[] = [],
  isValid: (entry: string) => boolean,
  expected: string,
): readonly string[] {
  for (const [index, entry] of entries.entries()) {
    if (typeof entry === 'string' && isValid(entry)) continue;
    throw new InvalidArgumentError({ argument: `${argument}[${index}]`, expected, received: entry });
  }
  return entries;
}

const lower = (text: string): string => text.toLowerCase();

/** True for what browsers send as `Origin`; extensions have their own schemes. */
function isOrigin(text: string): boolean {
  return text === 'null' || /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#]+$/i.test(text);
}

function isHostName(text: string): boolean {
  return text === '*' || isHost(text);
}

/** True for a name or an address, in brackets or not, with or without a port. */
function isHost(text: string): boolean {
  return /^[^\s/?#@]+$/.test(text);
}

function servedModels({ model, models = [], media }: ServerOptions): ServedModel[] {
  const single = model === undefined ? [] : [isServed(model) ? model : withName(model, media)];
  const all = [...single, ...models].flatMap((served) => [served, ...adapted(served)]);
  const ids = new Set(all.map(({ id }) => id));
  if (all.length === 0 || ids.size < all.length || ids.has('')) {
    throw new InvalidArgumentError({
      argument: 'models',
      expected: 'at least one model, each with a unique, non-empty id',
      received: all.map(({ id }) => id),
    });
  }
  return all;
}

/** A model once more for each of its adapters, as `base:adapter`. Its transcriber would ignore them. */
function adapted({ transcribe: _, ...served }: ServedModel): ServedModel[] {
  if (served.adapter !== undefined) return [];
  const names = served.model.decoder.adapters?.names ?? [];
  return names.map((adapter) => ({ ...served, id: `${served.id}:${adapter}`, adapter }));
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
