import { type Checkpoint, openCheckpoint } from '@markbase/loader';
import { type Device, openDevice, type Program } from '@markbase/metal-runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chooseExperts, loadMixture, mixtureConfig, mixtureOfExperts } from '../src/index.js';
import { blockOracle } from './block-oracle.js';
import { fixture, identity, MIXTURES } from './fixtures.js';

const ROWS = 9;
const LAYER = 1;

let device: Device;
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 2 });
});
afterAll(() => device.dispose());

/** Rows with about the magnitude of a residual stream. */
function stream(width: number): Float32Array {
  return Float32Array.from(
    { length: ROWS * width },
    (_, i) => 3 * Math.sin(1.7 * i + 0.3 * Math.floor(i / width)),
  );
}

function recordBlock(checkpoint: Checkpoint, precision: 'high' | 'fast', fusions?: false): Program {
  const { hiddenWidth } = mixtureConfig(checkpoint);
  const block = mixtureOfExperts({ checkpoint, device, layerIndex: LAYER, dense: identity });
  const options = {
    label: 'block',
    maxRows: ROWS,
    maxOutputs: 0,
    precision,
    ...(fusions === false && { fusions }),
  };
  const program = device.record(options, (ops) => {
    ops.output('y', block.run(ops, ops.input('h', 'T', { axis: 'D', size: hiddenWidth })));
  });
  // Mapped memory stays as long as the program.
  block.dispose?.();
  return program;
}

async function run(program: Program, h: Float32Array, width: number, name = 'y'): Promise<Float32Array> {
  const count = h.length / width;
  const zeros = new Int32Array(count);
  const step = {
    tokens: zeros,
    positions: zeros,
    slots: zeros,
    outputRows: new Int32Array(0),
    inputs: { h },
  };
  return (await program.run(step, { read: [name] })).outputs[name]!;
}

function relativeRms(actual: ArrayLike<number>, expected: Float64Array): number {
  const error = expected.reduce((sum, value, i) => sum + (actual[i]! - value) ** 2, 0);
  return Math.sqrt(error / expected.reduce((sum, value) => sum + value * value, 0));
}

describe.each(MIXTURES)('the block of %s', (name) => {
  it('equals the formulas, fused and plain', async () => {
    const checkpoint = await openCheckpoint(fixture(name));
    const config = mixtureConfig(checkpoint);
    const h = stream(config.hiddenWidth);
    const expected = await blockOracle(checkpoint, config, LAYER, h);
    using fused = recordBlock(checkpoint, 'high');
    using plain = recordBlock(checkpoint, 'high', false);
    using fast = recordBlock(checkpoint, 'fast');
    const y = await run(fused, h, config.hiddenWidth);
    // float32 sums of several hundred terms, through three products and two norms.
    expect(relativeRms(y, expected.y)).toBeLessThan(2e-6);
    expect(await run(plain, h, config.hiddenWidth)).toEqual(y);
    // 8-bit activations are off by about 1 %; the router does not use them.
    expect(relativeRms(await run(fast, h, config.hiddenWidth), expected.y)).toBeLessThan(3e-2);
    expect(fused.plan.commands.map(({ kernel }) => kernel.replace(/_(q|b?f).*$/, ''))).toEqual([
      'linear',
      'moe_linear',
      'moe_linear',
      'rms_norm',
      'rms_norm',
    ]);
  });

  it('gives a row the same bits alone and with others', async () => {
    const checkpoint = await openCheckpoint(fixture(name));
    const { hiddenWidth: width } = mixtureConfig(checkpoint);
    const h = stream(width);
    using program = recordBlock(checkpoint, 'high');
    const together = await run(program, h, width);
    for (let row = 0; row < ROWS; row++) {
      const alone = await run(program, h.slice(row * width, (row + 1) * width), width);
      expect(alone).toEqual(together.slice(row * width, (row + 1) * width));
    }
  });

  it('chooses the same experts as the formulas in both precisions', async () => {
    const checkpoint = await openCheckpoint(fixture(name));
    const config = mixtureConfig(checkpoint);
    const h = stream(config.hiddenWidth);
    const { experts } = await blockOracle(checkpoint, config, LAYER, h);
    const { weights, dispose } = loadMixture(checkpoint, device, config, LAYER);
    for (const precision of ['high', 'fast'] as const) {
      using program = device.record({ label: 'router', maxRows: ROWS, maxOutputs: 0, precision }, (ops) => {
        const stream = ops.input('h', 'T', { axis: 'D', size: config.hiddenWidth });
        ops.output('experts', chooseExperts(ops, config, weights, stream).experts);
      });
      expect([...(await run(program, h, config.hiddenWidth, 'experts'))]).toEqual(experts.flat());
    }
    dispose();
  });

  it('counts the weights of the experts that a token uses', async () => {
    const checkpoint = await openCheckpoint(fixture(name));
    const { expertCount, topK } = mixtureConfig(checkpoint);
    const bytes = (part: string) =>
      checkpoint.weights
        .names()
        .filter((tensor) => tensor.includes(`layers.${LAYER}.${part}`))
        .reduce((sum, tensor) => sum + checkpoint.weights.tensor(tensor).range.sizeBytes, 0);
    using program = recordBlock(checkpoint, 'fast');
    const own = bytes('router.') + (bytes('experts.') * topK) / expertCount;
    // In addition, there are norms of a few hundred bytes.
    expect(program.plan.weightBytes).toBeGreaterThan(0.95 * own);
    expect(program.plan.weightBytes).toBeLessThan(own + 4096);
    const { commands, weightBytes } = program.plan;
    expect(commands.reduce((sum, command) => sum + command.weightBytes, 0)).toBe(weightBytes);
  });
});
