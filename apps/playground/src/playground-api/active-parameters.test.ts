import type { Checkpoint } from '@markbase/loader';
import { openCheckpoint } from '@markbase/loader';
import { expect, it } from 'vitest';
import { DEMO_MODEL, fixture, hasDemoModel } from '../../test/run-markbase.js';
import { activeParameters } from './active-parameters.js';

/** Parameters of one token, computed from the configuration: projections of attention and MLP, and the tied head. */
function counted({ config: { text } }: Checkpoint): number {
  const layers = text.layers.map((layer) => {
    const keysAndValues = layer.kvSource === null ? 2 * layer.kvHeadCount * layer.headDim : 0;
    const attention = 2 * text.headCount * layer.headDim + keysAndValues;
    return text.hiddenSize * (attention + 3 * layer.intermediateSize);
  });
  return layers.reduce((sum, count) => sum + count, text.vocabSize * text.hiddenSize);
}

it('counts the elements of packed matrices, except for norms and other small tensors', async () => {
  const checkpoint = await openCheckpoint(fixture('31b-hf'));
  const ratio = activeParameters(checkpoint) / counted(checkpoint);
  expect(ratio).toBeGreaterThan(0.8);
  expect(ratio).toBeLessThan(1.1);
});

it.skipIf(!hasDemoModel)('counts only active experts', async () => {
  const experts = await openCheckpoint(`${DEMO_MODEL}-moe`);
  // From its README: 7.4 million parameters, 3.9 million of them active per token.
  expect(activeParameters(experts) / 1e6).toBeCloseTo(3.9, 0);
});
