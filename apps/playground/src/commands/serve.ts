import path from 'node:path';
import { InvalidArgumentError } from '@markbase/core';
import type { Device } from '@markbase/metal-runtime';
import type { Logger } from '@markbase/server';
import { Command, Option } from 'commander';
import { checkpointFolder } from '../checkpoint-folder.js';
import { EXIT_INTERRUPTED } from '../errors.js';
import { withInterrupt } from '../interrupt.js';
import { repositoryOf } from '../models/repository-of.js';
import {
  addDeviceFlags,
  bytes,
  type DeviceFlags,
  integer,
  namedFolder,
  nonEmpty,
  real,
  repeated,
} from '../options.js';
import { clearLine, note, startProgress, startUploadProgress, warn, writeFindings } from '../progress.js';
import { accessLog } from '../serve/access-log.js';
import { listenError, OWN_ADDRESSES } from '../serve/listen-error.js';
import { rememberedSequences } from '../serve/remembered-sequences.js';
import { announceServer } from '../servers/running-servers.js';
import { addSpeculationFlags, type SpeculationFlags, speculationOptions } from '../speculation-flags.js';
import { withDevice } from '../with-device.js';

interface ServeFlags extends DeviceFlags, SpeculationFlags {
  readonly model: string;
  readonly name?: string;
  readonly adapter: Readonly<Record<string, string>>;
  readonly port: number;
  readonly host: string;
  readonly context?: number;
  readonly sequences: number;
  readonly cacheGb: number;
  readonly cacheDir?: string;
  readonly cacheBytes: number;
  readonly interTokenMs?: number;
  readonly queue: number;
  readonly drain: number;
  readonly allowOrigin: readonly string[];
  readonly allowHost: readonly string[];
  readonly allowImageHost: readonly string[];
  readonly ffmpeg: boolean;
  readonly log: boolean;
}

const GB = 1e9;
const PREFILL_CHUNK = 512;
/** Time to free the model after the last answer. */
const EXIT_MS = 1000;

/** `markbase serve`: serves OpenAI's and Anthropic's APIs over HTTP until it is stopped. */
export function serveCommand(): Command {
  const command = new Command('serve')
    .description(
      "Serve a model over HTTP with OpenAI's and Anthropic's APIs, by default to this machine only (see --host). " +
        'The first Ctrl-C lets running answers finish. Set MARKBASE_API_KEY to require a key from clients.',
    )
    .requiredOption('--model <dir>', 'checkpoint folder, org/name on the hub, or a name of "markbase list"')
    .option(
      '--name <id>',
      'name of the model in requests (default: the name of its folder or repository)',
      nonEmpty,
    )
    .option(
      '--adapter <name=dir>',
      'LoRA adapter that requests choose as MODEL:NAME; repeatable',
      namedFolder,
      {},
    )
    .option('--port <n>', 'port to listen on; 0 = any free port', integer(0, 65_535), 8080)
    .option('--host <address>', 'address to listen on', nonEmpty, '127.0.0.1')
    .option('--context <n>', 'maximum number of tokens in prompt and answer together', integer(2))
    .option('--sequences <n>', 'answers that run at once', integer(1, 1024), 8)
    .option('--cache-gb <n>', 'memory for remembering prompts, in addition to running answers', real(0), 1)
    .option('--cache-dir <dir>', 'folder that keeps prompts beyond the end of the server', nonEmpty)
    .addOption(
      new Option('--cache-bytes <size>', 'maximum size of that folder, such as 500MB or 20GB')
        .argParser(bytes)
        .default(10 * GB, '10GB'),
    )
    .option(
      '--inter-token-ms <n>',
      'time between two tokens of an answer to keep while other prompts are read (default: none)',
      integer(1, 60_000),
    )
    .option('--queue <n>', 'answers that may wait; further requests get status 429', integer(0), 256)
    .option('--drain <s>', 'seconds that running answers have to finish on shutdown', integer(1), 30)
    .option(
      '--allow-origin <origin>',
      'origin of web pages that may call the server; repeatable',
      repeated,
      [],
    )
    .option(
      '--allow-host <name>',
      'host name under which the server may be called, * = any; repeatable',
      repeated,
      [],
    )
    .option('--allow-image-host <host>', 'host that images may be fetched from; repeatable', repeated, [])
    .option('--no-ffmpeg', 'do not give sounds and videos of clients to the installed ffmpeg')
    .option('--log', 'write one line of JSON per request to standard error', false)
    .action((flags: ServeFlags) => serve(flags));
  return addDeviceFlags(addSpeculationFlags(command), 'fast');
}

async function serve(flags: ServeFlags): Promise<void> {
  const apiKey = process.env.MARKBASE_API_KEY;
  if (apiKey === '') {
    throw new InvalidArgumentError({
      argument: 'MARKBASE_API_KEY',
      expected: 'a key, or an unset variable',
      received: '',
    });
  }
  await withDevice(flags, async (device) => {
    const { createServer } = await import('@markbase/server');
    const { transcriberFor } = await import('../serve/transcriber.js');
    const model = await withInterrupt((signal) => loadServedModel(flags, device, signal));
    const { loadServedMedia, MediaEncoders } = await import('@markbase/gemma');
    using encoders = new MediaEncoders(model.checkpoint, device, flags);
    const media = await withInterrupt((signal) =>
      loadServedMedia(encoders, signal, { usesFfmpeg: flags.ffmpeg, onWarning: warn }),
    );
    const logger = accessLog(flags.log);
    const id = flags.name ?? nameOf(model.checkpoint.directory);
    const server = createServer({
      model: {
        id,
        model,
        media: media.encoder,
        ...(media.audio && { transcribe: transcriberFor(model, media.audio, flags.ffmpeg) }),
      },
      allowedOrigins: flags.allowOrigin,
      allowedHosts: [...flags.allowHost, flags.host],
      allowedImageHosts: flags.allowImageHost,
      limits: { queue: flags.queue, drainMs: flags.drain * 1000 },
      logger,
      ...(apiKey !== undefined && { apiKey }),
    });
    try {
      const url = await server
        .listen({ port: flags.port, hostname: flags.host })
        .catch((error: unknown) => Promise.reject(listenError(error, flags)));
      clearLine();
      if (apiKey === undefined && !OWN_ADDRESSES.has(flags.host)) warnOpen(flags.host, logger);
      process.stdout.write(`serving ${id} at ${url}/v1\n`);
      note(`requests name the model ${id}; it is ${model.checkpoint.directory}; Ctrl-C ends the server`);
      const withdraw = await announceServer({ url, command: 'serve', model: id });
      try {
        await endSignal();
      } finally {
        await withdraw();
      }
      // Whatever happens, the process ends in time.
      setTimeout(() => process.exit(EXIT_INTERRUPTED), flags.drain * 1000 + EXIT_MS).unref();
      note('letting running answers finish; press Ctrl-C again to end now');
    } finally {
      await server.close();
      await model.finishSaving();
      model.dispose();
    }
  });
}

/** The name of a model in requests: that of its folder, or of its repository, whose folder in the cache is a commit. */
function nameOf(folder: string): string {
  return repositoryOf(folder)?.name ?? path.basename(path.resolve(folder));
}

/** Said in the log where nobody may be looking at a terminal. */
function warnOpen(host: string, logger: Logger): void {
  const text =
    'anybody who reaches this address can use the model: set MARKBASE_API_KEY, or leave --host out';
  if (process.stderr.isTTY) warn(`${text} (--host ${host})`);
  else logger.warn(text, { host });
}

async function loadServedModel(flags: ServeFlags, device: Device, signal: AbortSignal) {
  const { openCheckpoint } = await import('@markbase/loader');
  const { TextModel, decoderConfig, loadLanguage } = await import('@markbase/text');
  const { mixtureOfExperts: feedForward } = await import('@markbase/moe');
  const folder = await checkpointFolder(flags.model, signal);
  using progress = startProgress('loading');
  progress.say(`loading ${folder}`);
  const checkpoint = await openCheckpoint(folder, { signal });
  writeFindings(checkpoint);
  const { precision, sequences: maxSequences } = flags;
  const contextTokens = flags.context ?? Math.min(decoderConfig(checkpoint).maxPositions, 8192);
  const prefillChunk = Math.min(PREFILL_CHUNK, contextTokens);
  // Nothing can be served without a tokenizer; fail early.
  const language = await loadLanguage(checkpoint, { signal });
  return TextModel.load(checkpoint, device, {
    precision,
    contextTokens,
    maxSequences,
    prefillChunk,
    ...(flags.interTokenMs !== undefined && { interTokenMs: flags.interTokenMs }),
    rememberedSequences: Math.min(
      rememberedSequences(checkpoint, flags.cacheGb * GB, { contextTokens, prefillChunk, precision }),
      1024,
    ),
    ...(flags.cacheDir !== undefined && {
      savedPrefixes: { directory: flags.cacheDir, maxBytes: flags.cacheBytes, onWarning: warn },
    }),
    feedForward,
    adapters: flags.adapter,
    ...(await speculationOptions(flags, checkpoint, device.info.kind, signal)),
    language: Promise.resolve(language),
    signal,
    // The log also goes to standard error.
    ...(!flags.log && { onProgress: startUploadProgress().update }),
  });
}

/** Waits for Ctrl-C or SIGTERM. The second signal ends the process immediately. */
function endSignal(): Promise<void> {
  return new Promise((resolve) => {
    let hasCome = false;
    const onSignal = () => {
      if (hasCome) process.exit(EXIT_INTERRUPTED);
      hasCome = true;
      resolve();
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
  });
}
