import type { Device } from '@markbase/metal-runtime';
import { describe, expect, it } from 'vitest';
import type { ClipRows } from './clip-rows.js';
import type { Encoder } from './encoder.js';
import { EncoderQueue } from './encoder-queue.js';

/** A device whose steps run until stopped, with counts of started and stopped steps. */
function endlessDevice() {
  const steps = { started: 0, stopped: 0 };
  const run = (_: unknown, { signal }: { signal: AbortSignal }) => {
    steps.started += 1;
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        steps.stopped += 1;
        reject(signal.reason);
      });
    });
  };
  const device = { record: () => ({ run, dispose: () => {} }) } as unknown as Device;
  return { device, steps };
}

const ENCODER = { kind: 'frames' } as Encoder;
const CLIP: ClipRows = { rows: 1, features: new Float32Array(4), mask: null };

describe('EncoderQueue', () => {
  it('stops a step when the only caller of its clips leaves', async () => {
    const { device, steps } = endlessDevice();
    const queue = new EncoderQueue(device, ENCODER, { maxRows: 8, precision: 'high' });
    const control = new AbortController();
    const { signal } = control;
    const results = Promise.allSettled([queue.run(CLIP, { signal }), queue.run(CLIP, { signal })]);
    await new Promise(setImmediate);
    const reason = new RangeError('enough');
    control.abort(reason);
    expect(await results).toEqual([
      { status: 'rejected', reason },
      { status: 'rejected', reason },
    ]);
    expect(steps).toEqual({ started: 1, stopped: 1 });
  });

  it('continues a step as long as one caller waits', async () => {
    const { device, steps } = endlessDevice();
    const queue = new EncoderQueue(device, ENCODER, { maxRows: 8, precision: 'high' });
    const [first, second] = [new AbortController(), new AbortController()];
    const results = Promise.allSettled([
      queue.run(CLIP, { signal: first.signal }),
      queue.run(CLIP, { signal: second.signal }),
    ]);
    await new Promise(setImmediate);
    first.abort();
    await new Promise(setImmediate);
    expect(steps).toEqual({ started: 1, stopped: 0 });
    second.abort();
    await results;
    expect(steps).toEqual({ started: 1, stopped: 1 });
  });
});
