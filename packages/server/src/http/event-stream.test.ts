import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { type EventStreamOptions, eventStream, type Frame, frameText } from './event-stream.js';

const options: EventStreamOptions = {
  keepAliveMs: 60_000,
  keepAlive: ': keep-alive\n\n',
  stallMs: 60_000,
  stallBusyMs: 60_000,
  isContended: () => false,
  signal: new AbortController().signal,
  errorFrame: (error) => ({ data: { error: String(error) } }),
  onLeave: () => {},
};

async function* frames(...items: readonly (Frame | Promise<never>)[]): AsyncGenerator<Frame> {
  for (const item of items) yield await item;
}

const textOf = (stream: ReadableStream<Uint8Array>) => new Response(stream).text();

describe('eventStream', () => {
  it('sends frames, one event each', async () => {
    const text = await textOf(
      eventStream(frames({ data: { a: 1 } }, { event: 'end', data: '[DONE]' }), options),
    );
    expect(text).toBe('data: {"a":1}\n\nevent: end\ndata: [DONE]\n\n');
  });

  it('escapes characters that some clients treat as line breaks', () => {
    const data = { text: 'a\u2028b\u2029c\u0085d\ne' };
    const text = frameText({ data });
    expect(text).not.toMatch(/[\u2028\u2029\u0085]/);
    expect(text.trimEnd().split('\n')).toHaveLength(1);
    expect(JSON.parse(text.slice('data: '.length))).toEqual(data);
  });

  it('reports an error in a last event', async () => {
    const broken = eventStream(frames({ data: 1 }, Promise.reject(new RangeError('broken'))), options);
    expect(await textOf(broken)).toBe('data: 1\n\ndata: {"error":"RangeError: broken"}\n\n');
  });

  it('sends keep-alives while nothing happens', async () => {
    const slow = async function* () {
      await wait(250);
      yield { data: 1 };
    };
    const text = await textOf(eventStream(slow(), { ...options, keepAliveMs: 50 }));
    expect(text).toMatch(/^(: keep-alive\n\n)+data: 1\n\n$/);
  });

  it('stops the source when the client leaves', async () => {
    const onLeave = vi.fn();
    let isOver = false;
    const endless = async function* () {
      try {
        for (;;) {
          yield { data: 1 };
          await wait(1);
        }
      } finally {
        isOver = true;
      }
    };
    const reader = eventStream(endless(), { ...options, onLeave }).getReader();
    await reader.read();
    await reader.cancel();
    expect(onLeave).toHaveBeenCalledTimes(1);
    await vi.waitFor(() => expect(isOver).toBe(true), { timeout: 10_000 });
  });

  it('runs ahead of a slow client by a bounded amount, and disconnects one that reads nothing', async () => {
    const onLeave = vi.fn();
    const piece = 'x'.repeat(16_384);
    let made = 0;
    const endless = async function* () {
      for (; made < 10_000; made++) yield { data: piece };
    };
    const reader = eventStream(endless(), { ...options, stallMs: 60, onLeave }).getReader();
    await reader.read();
    await wait(30);
    expect(made).toBeLessThan(40);
    await vi.waitFor(() => expect(onLeave).toHaveBeenCalledTimes(1), { timeout: 10_000 });
    await expect(reader.read()).rejects.toThrow('stopped reading');
  });

  it('disconnects a client that reads nothing sooner while others wait', async () => {
    const onLeave = vi.fn();
    let isContended = false;
    const endless = async function* () {
      for (;;) yield { data: 'x'.repeat(16_384) };
    };
    const given = { ...options, stallBusyMs: 30, isContended: () => isContended, onLeave };
    const reader = eventStream(endless(), given).getReader();
    await reader.read();
    await wait(100);
    expect(onLeave).not.toHaveBeenCalled();
    isContended = true;
    await vi.waitFor(() => expect(onLeave).toHaveBeenCalledTimes(1), { timeout: 10_000 });
  });

  it('ends a source that waits for a client when the answer has to end, and still reports why', async () => {
    const controller = new AbortController();
    let isOver = false;
    const endless = async function* () {
      try {
        for (;;) {
          controller.signal.throwIfAborted();
          yield { data: 'x'.repeat(16_384) };
        }
      } finally {
        isOver = true;
      }
    };
    const stream = eventStream(endless(), { ...options, signal: controller.signal });
    await wait(30);
    controller.abort(new RangeError('closing'));
    await vi.waitFor(() => expect(isOver).toBe(true), { timeout: 10_000 });
    expect(await textOf(stream)).toMatch(/data: \{"error":"RangeError: closing"\}\n\n$/);
  });
});
