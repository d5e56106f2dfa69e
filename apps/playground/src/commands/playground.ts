import { InvalidArgumentError } from '@markbase/core';
import { Command } from 'commander';
import { checkpointFolder } from '../checkpoint-folder.js';
import { withInterrupt } from '../interrupt.js';
import { addDeviceFlags, type DeviceFlags, integer } from '../options.js';
import { printLines } from '../output.js';
import { note } from '../progress.js';

interface PlaygroundFlags extends DeviceFlags {
  readonly model?: string;
  readonly context?: number;
  readonly sequences: number;
  readonly port: number;
  readonly host: string;
  readonly open: boolean;
}

/** Large pictures and sounds come through the page. */
const MEDIA_BYTES = 64 * 2 ** 20;
/** A conversation brings all of its media with every question, and a video is 32 of them. */
const MEDIA_PARTS = 512;
const OWN_ADDRESSES = new Set(['127.0.0.1', '::1', 'localhost']);

/** `markbase playground`: the web page and the APIs behind it. */
export function playgroundCommand(): Command {
  const command = new Command('playground')
    .description(
      'Open a page to chat with a model, see where time and memory go, and load others; with the APIs beside it. ' +
        'A key that all requests must bring is read from MARKBASE_API_KEY.',
    )
    .option('--model <dir>', 'folder of a checkpoint, or org/name on the hub (default: the demo model)')
    .option('--context <n>', 'most tokens of prompt and answer together', integer(2))
    .option('--sequences <n>', 'answers at once', integer(1, 64), 4)
    .option('--port <n>', 'port to listen at; 0 = any free one', integer(0, 65_535), 8080)
    .option('--host <name>', 'address to listen at', '127.0.0.1')
    .option('--no-open', 'leave the browser alone')
    .action(async (flags: PlaygroundFlags) => {
      // Ending it is the only way to end it: no failure.
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
  });
  try {
    if (model !== null) {
      note(`loading ${model}`);
      const request = { model, device, precision, contextTokens: context, maxSequences };
      await playground.host.load(request, () => {}, signal);
    }
    printLines([
      `page: ${playground.address}`,
      `APIs: ${playground.address}/v1 (OpenAI, Anthropic), /health, /ready, /metrics`,
    ]);
    if (flags.open && process.stdout.isTTY) openBrowser(playground.address);
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    note('ending');
  } finally {
    await playground.close();
  }
}

/** The page loads models and lists folders: beyond this machine, that takes a key. @throws InvalidArgumentError */
function keyFor(host: string): string | undefined {
  const key = process.env.MARKBASE_API_KEY;
  if (key || OWN_ADDRESSES.has(host)) return key || undefined;
  throw new InvalidArgumentError({
    argument: '--host',
    expected: `an address of this machine alone (${[...OWN_ADDRESSES].join(', ')}) when there is no key`,
    received: host,
    hint: 'Set MARKBASE_API_KEY to a key, and enter it on the page under Settings',
  });
}

/** null = the package is not installed: the page then asks for a model. */
async function demoModel(): Promise<string | null> {
  try {
    return (await import('@markbase/demo-model')).modelPath;
  } catch {
    return null;
  }
}
