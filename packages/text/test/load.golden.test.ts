import { InvalidArgumentError, UnsupportedModelError, WeightMapError } from '@markbase/core';
import { type Checkpoint, openCheckpoint } from '@markbase/loader';
import { BLOCK_TOKENS, type Device } from '@markbase/metal-runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TextModel } from '../src/index.js';
import { fixture, openTestDevice, presentFixtures } from './fixtures.js';

const [DENSE] = presentFixtures(['e2b-mlx-4bit', 'e2b-hf', '31b-mlx-8bit', '12b-mlx-4bit', 'e4b-mlx-4bit']);
const [EXPERTS] = presentFixtures(['26b-a4b-mlx-4bit', '26b-a4b-hf']);
const [SHARED] = presentFixtures(['e2b-hf', 'e2b-mlx-4bit']);

let device: Device;
beforeAll(async () => {
  device = await openTestDevice();
});
afterAll(() => device.dispose());

/** A checkpoint that lacks some tensors or has additional ones. */
function changed(
  checkpoint: Checkpoint,
  { hidden = [], extra = [] }: { hidden?: string[]; extra?: string[] },
): Checkpoint {
  const { weights } = checkpoint;
  const refuse = (name: string) => {
    if (hidden.includes(name)) throw new WeightMapError({ missing: [name] });
  };
  return {
    ...checkpoint,
    weights: {
      ...weights,
      tensor(name) {
        refuse(name);
        return weights.tensor(name);
      },
      find: (name) => weights.find(name),
      matrix(module, expected) {
        refuse(`${module}.weight`);
        return weights.matrix(module, expected);
      },
      hasModule: (module) => weights.hasModule(module),
      names: () => weights.names(),
      entries: () => weights.entries(),
      similar: (missing) => weights.similar(missing),
      unused: () => [...weights.unused(), ...extra],
    },
  };
}

describe('TextModel.load', () => {
  it('names all missing tensors in one error', async () => {
    const hidden = [
      'language_model.layers.1.self_attn.q_proj.weight',
      'language_model.layers.3.input_layernorm.weight',
      'language_model.layers.0.layer_scalar',
    ];
    const loading = TextModel.load(changed(await openCheckpoint(fixture(DENSE!)), { hidden }), device);
    await expect(loading).rejects.toThrow(WeightMapError);
    await expect(loading).rejects.toMatchObject({ missing: expect.arrayContaining(hidden) });
  });

  it('refuses unused tensors of the decoder, and ignores those of the towers', async () => {
    const extra = ['language_model.layers.0.mystery.weight', 'vision_tower.mystery.weight'];
    const loading = TextModel.load(changed(await openCheckpoint(fixture(DENSE!)), { extra }), device);
    await expect(loading).rejects.toMatchObject({ unused: [extra[0]] });
  });

  it.runIf(SHARED)('allows unused keys and values of layers that share a cache', async () => {
    const extra = ['k_proj', 'v_proj', 'k_norm'].map(
      (name) => `language_model.layers.9.self_attn.${name}.weight`,
    );
    const checkpoint = await openCheckpoint(fixture(SHARED!));
    using model = await TextModel.load(changed(checkpoint, { extra }), device);
    expect(model.decoder.layers[9]!.attention.keyValue).toBeNull();
    expect(model.decoder.layers[9]!.attention.cache).toBe(model.decoder.layers[4]!.attention.cache);
    expect(model.decoder.layers[8]!.attention.cache).toBe(model.decoder.layers[3]!.attention.cache);
  });

  it.runIf(EXPERTS)(
    'names the package that a mixture of experts needs, and calls it for every layer',
    async () => {
      await expect(TextModel.load(await openCheckpoint(fixture(EXPERTS!)), device)).rejects.toThrow(
        UnsupportedModelError,
      );
      await expect(TextModel.load(await openCheckpoint(fixture(EXPERTS!)), device)).rejects.toThrow(
        /@markbase\/moe/,
      );
      const asked: number[] = [];
      const disposed: number[] = [];
      const checkpoint = await openCheckpoint(fixture(EXPERTS!));
      const loading = TextModel.load(checkpoint, device, {
        feedForward: ({ layerIndex, dense }) => {
          asked.push(layerIndex);
          return { ...dense, dispose: () => disposed.push(layerIndex) };
        },
      });
      // The experts' weights are left over, which exposes a block that ignores them.
      await expect(loading).rejects.toThrow(/unused .*experts/);
      expect(asked).toEqual([0, 1, 2, 3, 4, 5]);
      expect(disposed).toEqual(asked);
    },
  );

  it('sizes sliding caches for window and chunk, and full ones for the context', async () => {
    const options = { contextTokens: 300, prefillChunk: 20, maxSequences: 2, precision: 'high' as const };
    using model = await TextModel.load(await openCheckpoint(fixture(DENSE!)), device, options);
    for (const [index, { attention }] of model.decoder.layers.entries()) {
      const isSliding = model.config.layers[index]!.kind === 'sliding';
      const { windowTokens } = model.config;
      const sliding = Math.min(300, windowTokens - 1 + model.settings.maxStepTokens);
      expect(attention.cache).toMatchObject({
        // A window of 16 touches up to two blocks, three while it moves; the chunk of a step takes one more.
        blockCount: isSliding ? 2 * 3 + 1 : 2 * Math.ceil(300 / BLOCK_TOKENS),
        dtype: 'F32',
        capacityTokens: isSliding ? sliding : 300,
        windowTokens: isSliding ? windowTokens : null,
      });
    }
  });

  it('describes what a decode step was lowered to', async () => {
    using model = await TextModel.load(await openCheckpoint(fixture(DENSE!)), device, { maxSequences: 2 });
    const { commands, weightBytes } = model.plan(2);
    const layers = new Set(commands.map(({ label }) => label.split(' / ')[0]));
    for (const index of model.config.layers.keys()) expect(layers).toContain(`layer ${index}`);
    expect(weightBytes).toBeGreaterThan(0);
    expect(() => model.plan(3)).toThrow(InvalidArgumentError);
  });

  it('refuses to work without a tokenizer if it needs one, and after dispose', async () => {
    const model = await TextModel.load(await openCheckpoint(fixture(DENSE!)), device);
    await expect(model.language()).rejects.toThrow(InvalidArgumentError);
    model.dispose();
    model.dispose();
    await expect(model.createSequence()).rejects.toThrow(/disposed/);
  });
});
