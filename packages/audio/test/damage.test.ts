import { OutOfMemoryError } from '@markbase/core';
import { openCheckpoint, type TensorView, weightBytes } from '@markbase/loader';
import { type Device, openDevice } from '@markbase/metal-runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fullDevice } from '../../../fixtures/full-device.js';
import { fixture } from '../../../fixtures/locate.js';
import { AudioModel } from '../src/index.js';
import { changedCopy, unchanged } from './changed-copy.js';

const NAME = 'e2b-mlx-4bit';
const LAYER = 'audio_tower.layers.0';

let device: Device;
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 1 });
});
afterAll(() => device.dispose());

interface Damage {
  /** Changes of `audio_config`. */
  readonly config?: object;
  /** Omitted tensors. */
  readonly without?: readonly string[];
}

/** Loads the audio part of a damaged checkpoint. */
async function load({ config = {}, without = [] }: Damage): Promise<unknown> {
  const tensor = (view: TensorView) => (without.includes(view.name) ? null : unchanged(view));
  return AudioModel.load(await changedCopy(NAME, { config, tensor }), device);
}

describe('AudioModel.load', () => {
  it('reports insufficient memory before anything is loaded', async () => {
    const checkpoint = await openCheckpoint(fixture(NAME));
    const device = fullDevice(OutOfMemoryError) as unknown as Device;
    const error = await AudioModel.load(checkpoint, device).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(OutOfMemoryError);
    expect(error).toMatchObject({
      label: 'weights of the audio part',
      requestedBytes: weightBytes(checkpoint.weights, ['audio_tower', 'embed_audio']),
    });
  });

  it('names everything that is missing, including bounds of clipped linears', async () => {
    const without = [
      `${LAYER}.self_attn.q_proj.input_max`,
      `${LAYER}.norm_out.weight`,
      `${LAYER}.norm_pre_attn.weight`,
      'audio_tower.output_proj.bias',
    ];
    await expect(load({ without })).rejects.toMatchObject({
      code: 'WEIGHT_MAP',
      missing: expect.arrayContaining([
        expect.stringContaining('q_proj.input_max'),
        expect.stringContaining('norm_out.weight'),
        expect.stringContaining('norm_pre_attn.weight'),
        expect.stringContaining('output_proj.bias'),
      ]),
    });
  });

  it('names tensors that nothing has requested', async () => {
    await expect(load({ config: { num_hidden_layers: 1 } })).rejects.toMatchObject({
      code: 'WEIGHT_MAP',
      unused: expect.arrayContaining([expect.stringContaining('audio_tower.layers.1.norm_out.weight')]),
    });
  });

  it('compares sizes with the config', async () => {
    await expect(load({ config: { conv_kernel_size: 7 } })).rejects.toMatchObject({
      mismatched: expect.arrayContaining([
        expect.stringMatching(/depthwise_conv1d.*\[64,5,1\], expected .*\[64,1,7\]/),
      ]),
    });
    await expect(load({ config: { output_proj_dims: 32 } })).rejects.toMatchObject({ code: 'WEIGHT_MAP' });
  });

  it('refuses towers that it does not support', async () => {
    await expect(load({ config: { attention_context_right: 2 } })).rejects.toMatchObject({
      code: 'UNSUPPORTED_MODEL',
      reason: expect.stringContaining('2 steps ahead'),
    });
    await expect(load({ config: { attention_context_left: 1 } })).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
    });
  });
});
