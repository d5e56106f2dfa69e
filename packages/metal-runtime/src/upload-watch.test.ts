import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Device } from './device.js';
import { type UploadProgress, UploadWatch } from './upload-watch.js';

/** A device whose counts the test changes, with 100 bytes of an earlier load still being copied. */
function deviceOf() {
  const uploads = { queuedBytes: 1000, arrivedBytes: 900 };
  return { uploads, device: { uploads } as unknown as Device };
}

/** A watched load of 400 bytes; `load` sets the counts and triggers a report. */
function load(onProgress?: (progress: UploadProgress) => void) {
  const { uploads, device } = deviceOf();
  const controller = new AbortController();
  const events: UploadProgress[] = [];
  const watch = new UploadWatch(device, {
    onProgress: onProgress ?? ((progress) => events.push(progress)),
    signal: controller.signal,
  });
  uploads.queuedBytes += 400;
  const arrive = (bytes: number) => {
    uploads.arrivedBytes = 900 + bytes;
    vi.advanceTimersByTime(100);
  };
  return { uploads, controller, events, watch, arrive };
}

describe('UploadWatch', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it('reports at the end of the load, then ten times per second, and when everything has arrived', () => {
    const { events, watch, arrive, uploads } = load();
    expect(events).toEqual([]);
    watch.start();
    arrive(60);
    vi.advanceTimersByTime(99);
    // The bytes of another load do not count.
    uploads.queuedBytes += 5000;
    arrive(450);
    arrive(1000);
    expect(events).toEqual([0, 60, 450, 500].map((arrivedBytes) => ({ arrivedBytes, totalBytes: 500 })));
    expect(vi.getTimerCount()).toBe(0);
  });

  it('immediately reports that everything has arrived', () => {
    const { events, watch, uploads } = load();
    uploads.arrivedBytes = uploads.queuedBytes;
    watch.start();
    expect(events).toEqual([{ arrivedBytes: 500, totalBytes: 500 }]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is silent if files are read in place, or without a listener', () => {
    const onProgress = vi.fn();
    const inPlace = { uploads: { queuedBytes: 0, arrivedBytes: 0 } } as unknown as Device;
    new UploadWatch(inPlace, { onProgress }).start();
    new UploadWatch({} as Device, {}).start();
    expect(onProgress).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([
    ['it is disposed', ({ watch }: ReturnType<typeof load>) => watch.dispose()],
    ['the load is aborted', ({ controller }: ReturnType<typeof load>) => controller.abort()],
    ['the rest cannot be read', ({ uploads }: ReturnType<typeof load>) => (uploads.queuedBytes = 960)],
  ])('ends when %s', (_, end) => {
    const watched = load();
    watched.watch.start();
    watched.arrive(50);
    end(watched);
    watched.arrive(60);
    watched.arrive(500);
    expect(watched.events.map(({ arrivedBytes }) => arrivedBytes)).toEqual([0, 50]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('rethrows an error of the listener, and stops calling it', () => {
    const atOnce = load(() => {
      throw new Error('at once');
    });
    expect(() => atOnce.watch.start()).toThrow('at once');
    expect(vi.getTimerCount()).toBe(0);
    const later = load(({ arrivedBytes }) => {
      if (arrivedBytes > 0) throw new Error('later');
    });
    later.watch.start();
    expect(() => later.arrive(10)).toThrow('later');
    expect(vi.getTimerCount()).toBe(0);
  });

  it('does not keep the process alive', () => {
    vi.useRealTimers();
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    const { watch } = load();
    watch.start();
    expect(timers()).toBe(before);
    watch.dispose();
  });
});
