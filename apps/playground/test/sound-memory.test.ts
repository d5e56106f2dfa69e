import { setTimeout as wait } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { loadServedMedia, MediaEncoders } from '@markbase/gemma';
import { openDevice } from '@markbase/metal-runtime';
import { createServer } from '@markbase/server';
import { loadTextModel } from '@markbase/text';
import { describe, expect, it } from 'vitest';
import { silentWav } from '../../../fixtures/silent-wav.js';
import { DEMO_MODEL, hasDemoModel } from './run-markbase.js';

const MIB = 2 ** 20;
/** The limit that packages/audio guarantees for decoding and preparing a sound, whatever its file contains. */
const WORK_BYTES = 24 * MIB;
const SAMPLE_MS = 5;
const STEREO = { sampleRate: 48_000, channels: 2 };

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Bytes of all live objects, strings and array buffers. */
function liveBytes(): number {
  // Buffers are freed in the background: a second collection waits for the first to end.
  collect();
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** The peak of live bytes during the work, above the initial number. */
async function mostBytes(work: () => Promise<unknown>): Promise<number> {
  const before = liveBytes();
  let most = 0;
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      most = Math.max(most, liveBytes() - before);
      await wait(SAMPLE_MS);
    }
  })();
  await work();
  isOver = true;
  await watching;
  return most;
}

describe.skipIf(!hasDemoModel)('the memory of a request with sound', () => {
  it.each([
    ['fits', 75, 200],
    ['does not fit', 100, 400],
  ])('is at most three times its body plus the limits: a sound that %s', async (_, seconds, status) => {
    using device = await openDevice({ kind: 'cpu', threads: 2 });
    using model = await loadTextModel(DEMO_MODEL, device);
    using encoders = new MediaEncoders(model.checkpoint, device, { precision: 'fast' });
    const media = await loadServedMedia(encoders);
    const server = createServer({ model: { id: 'demo', model, media: media.encoder } });
    const ask = async (data: string) => {
      const content = [{ type: 'input_audio', input_audio: { data, format: 'wav' } }];
      const body = JSON.stringify({ model: 'demo', messages: [{ role: 'user', content }], max_tokens: 1 });
      const headers = { 'content-type': 'application/json' };
      const url = 'http://localhost/v1/chat/completions';
      const answer = await server.fetch(new Request(url, { method: 'POST', headers, body }));
      await answer.text();
      return answer.status;
    };
    // Code is compiled, and programs are recorded.
    expect(await ask(silentWav(48_000, STEREO).toString('base64'))).toBe(200);
    const data = silentWav(seconds * 48_000, STEREO).toString('base64');
    const softTokens = 2048 * model.config.hiddenWidth * Float32Array.BYTES_PER_ELEMENT;
    let answered = 0;
    const most = await mostBytes(async () => {
      answered = await ask(data);
    });
    await server.close();
    expect(answered).toBe(status);
    const limit = 3 * data.length + WORK_BYTES + softTokens;
    expect(most).toBeLessThanOrEqual(limit);
  });
});
