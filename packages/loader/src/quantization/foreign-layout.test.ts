import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { writeTensors } from '../../test/raw-safetensors.js';
import { E2B } from '../../test/released-configs.js';
import { openCheckpoint } from '../checkpoint/open-checkpoint.js';
import { foreignLayout } from './foreign-layout.js';

const root = temporaryFolder();

describe('foreignLayout', () => {
  it.each([
    [['a.qweight', 'a.qzeros', 'a.scales', 'a.g_idx'], 'GPTQ'],
    [['a.qweight', 'a.qzeros', 'a.scales'], 'GPTQ or AWQ'],
    [['a.weight_packed', 'a.weight_scale', 'a.weight_shape'], 'compressed-tensors'],
    [['a.weight', 'a.weight_scale', 'a.weight_scale_2'], 'ModelOpt'],
    [['a.weight', 'a.weight.absmax', 'a.weight.quant_map'], 'bitsandbytes'],
    [['a.weight', 'a.SCB'], 'bitsandbytes'],
    [['a.weight', 'a.weight_scale_inv'], 'FP8 or int8 with a weight_scale'],
  ])('knows %j', (names, layout) => {
    expect(foreignLayout(names)?.layout).toBe(layout);
  });

  it('recognises none in the tensors of Gemma or MLX', () => {
    const names = [
      'a.weight',
      'a.scales',
      'a.biases',
      'a.bias',
      'router.scale',
      'std_scale',
      'input_min',
      'layer_scalar',
    ];
    expect(foreignLayout(names)).toBeNull();
  });

  it('is named when a checkpoint without a quant_method is opened', async () => {
    await writeFile(join(root, 'config.json'), JSON.stringify(E2B));
    await writeTensors(join(root, 'model.safetensors'), { 'model.layers.0.mlp.up_proj.qweight': [2] });
    await expect(openCheckpoint(root)).rejects.toMatchObject({
      code: 'UNSUPPORTED_MODEL',
      reason: expect.stringContaining('GPTQ or AWQ'),
    });
  });
});
