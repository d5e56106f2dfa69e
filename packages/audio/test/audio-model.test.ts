import {
  audioTokens,
  compare,
  fromFloat32,
  openCheckpoint,
  type TensorSource,
  type TensorView,
} from '@markbase/loader';
import type { Device } from '@markbase/metal-runtime';
import { openDevice } from '@markbase/metal-runtime';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { fixture } from '../../../fixtures/locate.js';
import { AudioModel, type EncodedSegment } from '../src/index.js';
import { changedCopy, unchanged } from './changed-copy.js';
import { inPieces } from './collect.js';
import { loadAudio } from './fixtures.js';
import { FLAC_BLOCK, toneFlac } from './long-sounds.js';
import { noise } from './sounds.js';

const TOWER = 'e2b-mlx-4bit';
const FRAMES = '12b-mlx-4bit';

let device: Device;
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 1 });
});
afterAll(() => device.dispose());

/** A reproducible generator of whole numbers below `limit`. */
function lengths(seed: number, limit: number, count: number): number[] {
  let state = seed;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 48_271) >>> 0) % 2_147_483_647;
    return state % limit;
  });
}

describe('AudioModel', () => {
  it.each([TOWER, FRAMES])(
    '%s: returns as many soft tokens as the prompt has placeholders, for any length',
    async (name) => {
      const model = await loadAudio(name, device);
      const { config } = await openCheckpoint(fixture(name));
      const least = name === TOWER ? 161 : 1;
      for (const count of [least, 480, 481, 640, 641, 1281, 1600, 3200, ...lengths(11, 40_000, 40)]) {
        const samples = noise(Math.max(count, least), count);
        const [segment, ...others] = await model.encode(samples);
        const { rows, width, values } = segment!.softTokens;
        expect(others).toEqual([]);
        expect([samples.length, rows]).toEqual([
          samples.length,
          audioTokens(samples.length, config).softTokens,
        ]);
        expect(rows).toBe(model.countTokens(samples.length));
        expect(values.length).toBe(rows * width);
      }
    },
  );

  it.each([
    [TOWER, 'high'],
    [TOWER, 'fast'],
    [FRAMES, 'high'],
    [FRAMES, 'fast'],
  ] as const)('%s: computes a clip the same alone and with others, in %s', async (name, precision) => {
    const model = await loadAudio(name, device, { precision, cacheBytes: 0 });
    const clips = [161, 5000, 20_000, 480_000, 16_000, 700].map((count, seed) => noise(count, seed));
    const alone: Float32Array[] = [];
    for (const clip of clips) alone.push((await model.encodeSamples(clip)).values);
    const together = await Promise.all(clips.map((clip) => model.encodeSamples(clip)));
    expect(together.map(({ values }) => values)).toEqual(alone);
  });

  it('returns the same for a stream in chunks as for the whole', async () => {
    const model = await loadAudio(TOWER, device, { cacheBytes: 0 });
    const [samples, sampleRate] = [noise(44_100 * 4, 5), 44_100];
    const options = { maxSeconds: 1.5 };
    const expected = await model.encode({ samples, sampleRate }, options);
    expect(expected.length).toBeGreaterThan(2);
    const stream = model.stream({ sampleRate, ...options });
    const made: EncodedSegment[] = [];
    for (let at = 0; at < samples.length; at += 1024)
      made.push(...(await stream.push(samples.subarray(at, at + 1024))));
    made.push(...(await stream.finish()));
    expect(stream.seconds).toBeCloseTo(4, 3);
    expect(made).toEqual(expected);
    expect(made.map(({ index }) => index)).toEqual([...made.keys()]);
    expect(made.at(-1)!.endSeconds).toBeCloseTo(4, 2);
  });

  it('caches encoded sound, separately for each way of computing it', async () => {
    const model = await loadAudio(TOWER, device);
    const samples = noise(8000, 3);
    const first = await model.encodeSamples(samples);
    expect(await model.encodeSamples(samples.slice())).toBe(first);
    const other = await loadAudio(TOWER, device, { precision: 'fast', quantizeOnLoad: 8 });
    const quantised = await other.encodeSamples(samples);
    expect(quantised.contentKey).not.toBe(first.contentKey);
    expect((await model.encodeSamples(noise(8000, 4))).contentKey).not.toBe(first.contentKey);
  });

  it('splits sound that is too long, or refuses it', async () => {
    const model = await loadAudio(TOWER, device);
    const samples = noise(16_000 * 31, 2);
    const segments = await model.encode(samples);
    expect(segments.map(({ startSeconds }) => startSeconds)).toEqual([0, segments[0]!.endSeconds]);
    await expect(model.encode(samples, { longer: 'refuse' })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    await expect(model.encode(samples, { maxSeconds: 60 })).rejects.toThrow(/at most 480000 samples/);
    const frames = await loadAudio(FRAMES, device);
    expect((await frames.encode(samples, { maxSeconds: 60 }))[0]!.softTokens.rows).toBe(775);
  });

  it('refuses sound without enough room before encoding any of it', async () => {
    const model = await loadAudio(TOWER, device);
    const attempt = async (source: Parameters<typeof model.encodeEach>[0]) => {
      let segments = 0;
      try {
        for await (const _ of model.encodeEach(source, { maxTokens: 1000 })) segments += 1;
      } catch (error) {
        return [segments, (error as Error).message];
      }
      return [segments, null];
    };
    const stated = toneFlac({ frames: 230, sampleRate: 1163, statedSamples: 230 * FLAC_BLOCK });
    expect(await attempt(stated)).toEqual([
      0,
      'the sound of 12960.5 s has at least 324012 tokens, but there is room for 1000 (40.0 s of sound): shorten it, or load ' +
        'the model with a larger contextTokens',
    ]);
    // Decoded once up to the limit, because no header states the length.
    const unknown = toneFlac({ frames: 230, sampleRate: 16_000, statedSamples: 0 });
    expect(await attempt(unknown)).toEqual([
      0,
      expect.stringMatching(/sound of 41\.0 s .* at least 1023 tokens/),
    ]);
    expect(await attempt(noise(16_000 * 41, 2))).toEqual([
      0,
      expect.stringContaining('at least 1024 tokens'),
    ]);
    // A source that can only be read once is encoded as far as it fits.
    const [segments, message] = await attempt(inPieces(unknown, 100));
    expect([segments, message]).toEqual([expect.any(Number), expect.stringContaining('40.0 s of sound')]);
    expect(await attempt(noise(16_000 * 40, 2))).toEqual([2, null]);
    await expect(model.encode(noise(800, 1), { maxTokens: 0 })).rejects.toMatchObject({
      argument: 'maxTokens',
    });
  });

  it('takes the options of a media encoder, and refuses others', async () => {
    const model = await loadAudio(TOWER, device);
    const [plain] = await model.encode(noise(1600, 1));
    const [named] = await model.encode(noise(1600, 1), { format: 'wav', maxTokens: 100 });
    expect(named!.softTokens.contentKey).toEqual(plain!.softTokens.contentKey);
    await expect(model.encode(noise(1600, 1), { max_tokens: 1 } as object)).rejects.toThrow(
      'Did you mean maxTokens?',
    );
  });

  it('refuses sound that yields no tokens, and invalid options', async () => {
    const model = await loadAudio(TOWER, device);
    await expect(model.encode(new Float32Array(160))).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(model.encode(new Float32Array(0))).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(model.encode(Float32Array.of(0, Number.NaN))).rejects.toThrow(/NaN/);
    await expect(model.encodeSamples(noise(900, 1).fill(Number.NaN, 7))).rejects.toThrow(/samples\[7\].*NaN/);
    await expect(model.encodeSamples([0, 0] as never)).rejects.toMatchObject({ argument: 'samples' });
    expect(() => model.stream({ sampleRate: Number.NaN })).toThrow(/^sampleRate: /);
    const wrong = (options: object) => expect(loadAudio(TOWER, device, options)).rejects.toThrow();
    await wrong({ precision: 'low' });
    await wrong({ quantizeOnLoad: 5 });
    await wrong({ maxBatchTokens: 10 });
    await wrong({ cacheBytes: -1 });
  });

  it('takes 23 commands per layer', async () => {
    const { plan } = await loadAudio(TOWER, device);
    expect(plan.commands.filter(({ label }) => label.startsWith('layer 1 /'))).toHaveLength(23);
  });

  it('refuses models without audio', async () => {
    await expect(AudioModel.load(fixture('31b-hf'), device)).rejects.toMatchObject({
      code: 'UNSUPPORTED_MODEL',
      reason: expect.stringContaining('config.json has no audio_config'),
    });
  });

  it('stops on abort', async () => {
    const model = await loadAudio(TOWER, device);
    const reason = new RangeError('enough');
    await expect(model.encode(noise(9000, 1), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const control = new AbortController();
    const running = model.encodeSamples(noise(480_000, 1), { signal: control.signal });
    const other = model.encodeSamples(noise(9000, 2));
    control.abort(reason);
    await expect(running).rejects.toBe(reason);
    expect((await other).rows).toBe(model.countTokens(9000));
  });

  it('stops working when its caller stops reading', async () => {
    const model = await loadAudio(TOWER, device);
    const options = { maxSeconds: 1 };
    for await (const { index } of model.encodeEach(noise(16_000 * 8, 4), options)) if (index === 1) break;
    const [first] = await model.encode(noise(16_000, 4), options);
    expect(first!.softTokens.rows).toBe(25);
  });

  it.each(['F32', 'F16'] as const)('loads a tower stored as %s', async (dtype) => {
    const tensor = (view: TensorView): TensorSource => {
      if (view.dtype !== 'BF16' || !/^(?:audio_tower|embed_audio)\./.test(view.name)) return unchanged(view);
      const chunks = async function* () {
        yield fromFloat32(await view.readFloat32(), dtype);
      };
      return { name: view.name, dtype, shape: view.shape, chunks };
    };
    const other = await AudioModel.load(await changedCopy(TOWER, { tensor }), device, { precision: 'high' });
    onTestFinished(() => other.dispose());
    const model = await loadAudio(TOWER, device);
    const samples = noise(20_000, 6);
    const [made, expected] = [await other.encodeSamples(samples), await model.encodeSamples(samples)];
    // float32 holds every bfloat16; float16 has more digits, but not the smallest numbers.
    if (dtype === 'F32') expect(made.values).toEqual(expected.values);
    expect(compare(made.values, expected.values).relRms).toBeLessThan(1e-4);
  });

  it('fails after dispose', async () => {
    const model = await loadAudio(TOWER, device);
    const waiting = model.encodeSamples(noise(9000, 2)).catch((error: unknown) => error);
    model.dispose();
    model.dispose();
    expect(await waiting).toMatchObject({ code: 'DISPOSED' });
    expect(() => model.stream()).toThrow(/audio model was disposed/);
    await expect(model.encode(noise(9000, 2))).rejects.toMatchObject({ code: 'DISPOSED' });
  });
});
