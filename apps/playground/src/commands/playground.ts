import { InvalidArgumentError } from '@markbase/core';
import { Command } from 'commander';
import { checkpointFolder } from '../checkpoint-folder.js';
import { withInterrupt } from '../interrupt.js';
import { addDeviceFlags, type DeviceFlags, integer, nonEmpty } from '../options.js';
import { printLines } from '../output.js';
import { note, startProgress } from '../progress.js';
import { listenError, OWN_ADDRESSES } from '../serve/listen-error.js';
import { announceServer } from '../servers/running-servers.js';

interface PlaygroundFlags extends DeviceFlags {
  readonly model?: string;
  readonly context?: number;
  readonly sequences: number;
  readonly port: number;
  readonly host: string;
  readonly open: boolean;
}

/** The page sends large pictures and sounds. */
const MEDIA_BYTES = 64 * 2 ** 20;
/** A conversation sends all of its media with every question, and a video counts as 32. */
const MEDIA_PARTS = 512;

/** `markbase playground`: serves the web page and the APIs. */
export function playgroundCommand(): Command {
  const command = new Command('playground')
    .description(
      'Open a web page to chat with a model, load others, and see where time and memory go. Also serves the HTTP APIs. ' +
        'Set MARKBASE_API_KEY to require a key in all requests.',
    )
    .option('--model <dir>', 'checkpoint folder, or org/name on the hub (default: the demo model)')
    .option('--context <n>', 'maximum number of tokens in prompt and answer together', integer(2))
    .option('--sequences <n>', 'answers that run at once', integer(1, 64), 4)
    .option('--port <n>', 'port to listen on; 0 = any free port', integer(0, 65_535), 8080)
    .option('--host <name>', 'address to listen on', nonEmpty, '127.0.0.1')
    .option('--no-open', 'do not open a browser')
    .action(async (flags: PlaygroundFlags) => {
      // Ctrl-C is the normal way to end it, not an error.
      await withInterrupt((signal) => run(flags, signal)).catch((error: Error) => {
        if (error.name !== 'AbortError') throw error;
      });
    });
  return addDeviceFlags(command, 'fast');
}

async function run(flags: PlaygroundFlags, signal: AbortSignal): Promise<void> {
  const { startPlayground } = await import('../playground/playground-server.js');
  const { openBrowser } = await import('../playground/open-browser.js');
  const { device, precision, threads, context = null, sequences: maxSequences, port, host } = flags;
  const apiKey = keyFor(host);
  const model = flags.model === undefined ? await demoModel() : await checkpointFolder(flags.model, signal);
  const playground = await startPlayground({
    port,
    hostname: host,
    threads,
    apiKey,
    allowedHosts: host === '0.0.0.0' || host === '::' ? ['*'] : [host],
    limits: { bodyBytes: 2 * MEDIA_BYTES, mediaBytes: MEDIA_BYTES, mediaParts: MEDIA_PARTS },
  }).catch((error: unknown) => Promise.reject(listenError(error, flags)));
  try {
    if (model !== null) {
      using progress = startProgress('loading');
      progress.say(`loading ${model}`);
      const request = { model, device, precision, contextTokens: context, maxSequences };
      await playground.host.load(request, () => {}, signal).finally(() => progress.finish());
    }
    printLines([
      `page: ${playground.address}`,
      `APIs: ${playground.address}/v1 (OpenAI, Anthropic), /health, /ready, /metrics`,
    ]);
    if (flags.open && process.stdout.isTTY) openBrowser(playground.address);
    const withdraw = await announceServer({ url: playground.address, command: 'playground', model: null });
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await withdraw();
    note('shutting down');
  } finally {
    await playground.close();
  }
}

/** The page can load models and list folders, so other machines need a key. @throws InvalidArgumentError */
function keyFor(host: string): string | undefined {
  const key = process.env.MARKBASE_API_KEY;
  if (key || OWN_ADDRESSES.has(host)) return key || undefined;
  throw new InvalidArgumentError({
    argument: '--host',
    expected: `a local address (${[...OWN_ADDRESSES].join(', ')}), or a key`,
    received: host,
    hint: 'Set MARKBASE_API_KEY, and enter the same key on the page under Settings',
  });
}

/** null if the package is not installed: the page then asks for a model. */
async function demoModel(): Promise<string | null> {
  try {
    return (await import('@markbase/demo-model')).modelPath;
  } catch {
    return null;
  }
}
