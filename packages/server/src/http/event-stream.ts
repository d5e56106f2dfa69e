import { setImmediate } from 'node:timers/promises';

/** One server-sent event. `data` that is not a string is sent as JSON. */
export interface Frame {
  readonly event?: string;
  readonly data: unknown;
}

/** How a stream of events is sent. */
export interface EventStreamOptions {
  /** A keep-alive is sent after this long without other data. */
  readonly keepAliveMs: number;
  /** Complete text of the keep-alive. */
  readonly keepAlive: string;
  /** A client that reads nothing for this long is disconnected. */
  readonly stallMs: number;
  /** The same while other requests wait for the slot. */
  readonly stallBusyMs: number;
  /** True while other requests wait. */
  readonly isContended: () => boolean;
  /** Aborted when the source should end; its last output is sent even if the client is not reading. */
  readonly signal: AbortSignal;
  /** The frame that reports an error; it ends the stream. */
  readonly errorFrame: (error: unknown) => Frame;
  /** Called when the client leaves or is disconnected: stop the source. */
  readonly onLeave: () => void;
}

/** Bytes to buffer for a slow client before its answer is paused. */
const BUFFERED_BYTES = 256 * 1024;

/**
 * Sends events as they come. The source may run ahead of the network by a bounded amount, so that a step does not wait
 * until the output of the previous one is written.
 */
export function eventStream(
  source: AsyncIterable<Frame>,
  options: EventStreamOptions,
): ReadableStream<Uint8Array> {
  return byteStream(encoded(source, options), { ...options, keepAlive: options.keepAlive });
}

/** Sends pieces of text as they come; see `eventStream`. An error in the source breaks the connection. */
export function byteStream(
  source: AsyncIterable<string>,
  options: Omit<EventStreamOptions, 'errorFrame'>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let lastWrite = performance.now();
  let wake: (() => void) | null = null;
  let timer: NodeJS.Timeout | undefined;
  let hasLeft = false;

  const { signal } = options;
  const onAbort = () => wake?.();
  const end = () => {
    clearInterval(timer);
    signal.removeEventListener('abort', onAbort);
  };
  const leave = () => {
    hasLeft = true;
    end();
    wake?.();
    options.onLeave();
  };

  /** Waits until the client has read something. */
  const nextRead = async () => {
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
    wake = null;
  };

  const pump = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    try {
      for await (const text of source) {
        if (hasLeft) return;
        controller.enqueue(encoder.encode(text));
        lastWrite = performance.now();
        if ((controller.desiredSize ?? 1) > 0 || signal.aborted) continue;
        await nextRead();
      }
      end();
      if (!hasLeft) controller.close();
    } catch (error) {
      // An error drops what is still in the stream, and what was written in the same turn of the event loop.
      while (!hasLeft && !signal.aborted && (controller.desiredSize ?? BUFFERED_BYTES) < BUFFERED_BYTES)
        await nextRead();
      await setImmediate();
      end();
      if (!hasLeft) controller.error(error);
    }
  };

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        signal.addEventListener('abort', onAbort, { once: true });
        timer = setInterval(
          () => {
            const idleMs = performance.now() - lastWrite;
            const stallMs = options.isContended() ? options.stallBusyMs : options.stallMs;
            if (wake !== null && idleMs > stallMs) {
              leave();
              controller.error(new DOMException('the client stopped reading', 'AbortError'));
            } else if (wake === null && idleMs >= options.keepAliveMs) {
              controller.enqueue(encoder.encode(options.keepAlive));
              lastWrite = performance.now();
            }
          },
          Math.min(options.keepAliveMs, options.stallMs, options.stallBusyMs, 1000),
        );
        void pump(controller);
      },
      pull() {
        wake?.();
      },
      cancel: leave,
    },
    { highWaterMark: BUFFERED_BYTES, size: (chunk) => chunk?.byteLength ?? 0 },
  );
}

async function* encoded(
  source: AsyncIterable<Frame>,
  { errorFrame }: Pick<EventStreamOptions, 'errorFrame'>,
): AsyncGenerator<string, void, void> {
  try {
    for await (const frame of source) yield frameText(frame);
  } catch (error) {
    yield frameText(errorFrame(error));
  }
}

/** The text of an event. Line separators inside JSON are escaped, because some clients split lines at them. */
export function frameText({ event, data }: Frame): string {
  const json = typeof data === 'string' ? data : JSON.stringify(data);
  const escaped = json.replace(
    /[\u2028\u2029\u0085]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${escaped}\n\n`;
}
