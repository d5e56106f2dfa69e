import { describe, expect, it } from 'vitest';
import { fixture } from '../../../../fixtures/locate.js';
import { ASSISTANT, DENSE_31B, E2B, E4B, MOE_26B, UNIFIED_12B } from '../../test/released-configs.js';
import { openCheckpoint } from '../checkpoint/open-checkpoint.js';
import { parseModelConfig } from '../config/model-config.js';
import { type EstimateSource, estimate, type StoredSize } from './estimate.js';

const KIB = 1024;

/** A source whose tensors have these byte counts. */
function sourceOf(config: unknown, sizes: Readonly<Record<string, number>>): EstimateSource {
  const entries = Object.entries(sizes).map(([name, sizeBytes]): [string, StoredSize] => [
    name,
    { dtype: 'BF16', shape: [sizeBytes / 2], range: { sizeBytes } },
  ]);
  return { config: parseModelConfig(config, 'config.json'), weights: { entries: () => entries } };
}

describe('estimate', () => {
  // 2 (keys and values) * 2 bytes * kv heads * head width, over the layers that own a cache: sliding, then full ones.
  it.each([
    ['E2B', E2B, 12 * 2 * 2 * 256, 3 * 2 * 2 * 512],
    ['E4B', E4B, 20 * 2 * 2 * 2 * 256, 4 * 2 * 2 * 2 * 512],
    ['12B', UNIFIED_12B, 40 * 2 * 2 * 8 * 256, 8 * 2 * 2 * 512],
    ['26B-A4B', MOE_26B, 25 * 2 * 2 * 8 * 256, 5 * 2 * 2 * 2 * 512],
    ['31B', DENSE_31B, 50 * 2 * 2 * 16 * 256, 80 * KIB],
  ])('computes the keys and values of %s', (_, config, sliding, full) => {
    const { text } = parseModelConfig(config, 'config.json');
    const made = estimate(sourceOf(config, {}), { contextTokens: 100_000, prefillChunk: 512 });
    expect(made.kv).toEqual({
      perToken: sliding + full,
      perTokenBeyondWindow: full,
      windowTokens: text.slidingWindow,
    });
    // Blocks of 32 positions: a window of 32 n touches n + 1 blocks, one more while it moves, for each sequence.
    const stepBlocks = text.bidirectionalVision ? 35 : 16;
    const windowBlocks = text.slidingWindow / 32 + 2;
    const blocks = (sequences: number) =>
      sliding * (sequences * windowBlocks + stepBlocks) + full * sequences * 3125;
    expect(made.cacheBytes).toBe(32 * blocks(1));
    const high = estimate(sourceOf(config, {}), { contextTokens: 100_000, sequences: 3, precision: 'high' });
    expect(high.cacheBytes).toBe(2 * 32 * blocks(3));
  });

  it('distinguishes what a decoding step reads from what is only stored', () => {
    const made = estimate(
      sourceOf(MOE_26B, {
        'language_model.embed_tokens.weight': 262_144 * 20,
        'language_model.layers.0.experts.switch_glu.up_proj.weight': 128 * 1000,
        'language_model.layers.0.router.proj.weight': 4000,
        'vision_tower.std_bias': 600,
        'embed_vision.embedding_projection.weight': 30,
        'lm_head.weight': 50,
      }),
      { contextTokens: 1000, parts: ['text'] },
    );
    expect(made.activePerToken).toMatchObject({
      dense: 262_144 * 20 + 4000,
      experts: 8 * 1000,
      lookups: 20,
      // 25 sliding layers of 8 heads and 5 full ones of 2 heads, after 1000 tokens.
      keysAndValues: 1000 * (25 * 2 * 2 * 8 * 256 + 5 * 2 * 2 * 2 * 512),
    });
    expect(made.bytesByPart).toEqual({ text: 262_144 * 20 + 128_000 + 4000 + 50, vision: 630, audio: 0 });
    expect(made.deadBytes).toBe(50);
    expect(made.weightBytes).toBe(made.fileBytes - 630 - 50);
  });

  it('reads shared caches again, and one row of the per-layer embedding', () => {
    const made = estimate(
      sourceOf(E2B, {
        'language_model.embed_tokens_per_layer.weight': 262_144 * 512,
        'language_model.layers.20.self_attn.k_proj.weight': 100,
      }),
      { contextTokens: 2000 },
    );
    expect(made.activePerToken).toMatchObject({
      dense: 0,
      lookups: 512,
      keysAndValues: 28 * 512 * 1024 + 7 * 2000 * 2048,
    });
    expect(made.deadBytes).toBe(100);
  });

  it('finds the longest context that fits', () => {
    const source = sourceOf(DENSE_31B, { 'language_model.embed_tokens.weight': 2 ** 34 });
    const at = (contextTokens: number) => estimate(source, { contextTokens }).totalBytes;
    const { fit } = estimate(source, { contextTokens: 8192, memoryBytes: at(50_016) });
    expect(fit).toMatchObject({ fits: true, maxContextTokens: 50_016 });
    expect(fit!.freeBytes).toBe(at(50_016) - at(8192));
    expect(estimate(source, { memoryBytes: at(50_016) - 1 }).fit!.maxContextTokens).toBe(49_984);
    expect(estimate(source, { memoryBytes: 2 ** 34 }).fit).toMatchObject({
      fits: false,
      maxContextTokens: 0,
    });
    expect(estimate(source, { memoryBytes: 2 ** 50 }).fit).toMatchObject({ maxContextTokens: 262_144 });
    expect(estimate(source).fit).toBeNull();
  });

  it('adds up the tensors of a real checkpoint without requesting any', async () => {
    const checkpoint = await openCheckpoint(fixture('e2b-mlx-4bit'));
    const made = estimate(checkpoint, { contextTokens: 64 });
    const sum = (table: Readonly<Record<string, number>>) => Object.values(table).reduce((a, b) => a + b, 0);
    expect(made.fileBytes).toBe(checkpoint.sizeBytes);
    expect(sum(made.bytesByDtype)).toBe(made.fileBytes);
    expect(sum(made.bytesByModule)).toBe(made.fileBytes);
    expect(sum(made.bytesByPart)).toBe(made.fileBytes);
    expect(Object.keys(made.bytesByDtype)).toEqual(expect.arrayContaining(['U32', 'BF16']));
    expect(made.bytesByPart.vision).toBeGreaterThan(0);
    expect(made.totalBytes).toBe(made.weightBytes + made.cacheBytes + made.activationBytes);
    expect(checkpoint.weights.unused()).toContain('language_model.norm.weight');
  });

  it('counts the factors of adapters, which have the largest rank of those that change a linear', () => {
    const change = (module: string, rank: number) => ({ module, rank, rows: 20, columns: 10 });
    const adapters = [{ modules: [change('a', 2), change('b', 3)] }, { modules: [change('a', 8)] }];
    const source = sourceOf(E2B, { 'language_model.norm.weight': 3072 });
    const [plain, adapted] = [estimate(source), estimate(source, { adapters, memoryBytes: 0 })];
    expect(adapted.adapterBytes).toBe(4 * 2 * (8 + 3) * (20 + 10));
    expect(adapted.totalBytes - plain.totalBytes).toBe(adapted.adapterBytes);
    expect(adapted.fit!.freeBytes).toBe(-adapted.totalBytes);
    expect([plain.adapterBytes, adapted.activationBytes]).toEqual([0, plain.activationBytes]);
  });

  it('accounts for a drafter without its own cache, which scores only some groups of its vocabulary', () => {
    const made = estimate(
      sourceOf(ASSISTANT, {
        'language_model.embed_tokens.weight': 262_144 * 512,
        'masked_embedding.centroids.weight': 2048 * 512,
        'language_model.norm.weight': 512,
      }),
      { contextTokens: 64 },
    );
    expect(made.cacheBytes).toBe(0);
    // 32 of 2048 groups of the tied head, and everything else.
    expect(made.activePerToken).toMatchObject({
      dense: 262_144 * 8 + 2048 * 512 + 512,
      lookups: 512,
    });
    expect(made.weightBytes).toBe(262_144 * 512 + 2048 * 512 + 512);
  });

  it.each([
    [{ contextTokens: 0 }, 'contextTokens'],
    [{ contextTokens: 300_000 }, 'contextTokens'],
    [{ sequences: 1.5 }, 'sequences'],
    [{ prefillChunk: -1 }, 'prefillChunk'],
    [{ memoryBytes: Number.NaN }, 'memoryBytes'],
  ])('refuses %o', (options, argument) => {
    expect(() => estimate(sourceOf(E2B, {}), options)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', argument }),
    );
  });
});
