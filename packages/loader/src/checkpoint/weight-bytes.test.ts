import { expect, it } from 'vitest';
import { TensorView } from '../safetensors/tensor-view.js';
import { MemorySource } from '../sources/memory-source.js';
import { weightBytes } from './weight-bytes.js';
import { createWeightIndex } from './weight-index.js';

it('counts the tensors of the given modules and no others', () => {
  const sizes = {
    'vision_tower.a.weight': 3,
    'vision_tower.b': 4,
    'embed_vision.c': 5,
    'vision_tower_2.d': 6,
  };
  const tensors = Object.entries(sizes).map(([name, sizeBytes]) => {
    const range = { path: '/file', offsetBytes: 0, sizeBytes };
    return new TensorView(name, 'I8', [sizeBytes], range, new MemorySource(new Uint8Array(0)));
  });
  const fields = { tensors, quantization: null, tieWordEmbeddings: true, configPath: '/config.json' };
  const weights = createWeightIndex(fields);
  expect(weightBytes(weights, ['vision_tower'])).toBe(7);
  expect(weightBytes(weights, ['vision_tower', 'embed_vision'])).toBe(12);
  expect(weightBytes(weights, ['audio_tower'])).toBe(0);
});
