import { join } from 'node:path';
import { openCheckpoint } from '@markbase/loader';
import { describe, expect, it } from 'vitest';
import { fixture } from '../../../fixtures/locate.js';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { writeAdapter } from '../../../fixtures/write-adapter.js';
import { DEMO_MODEL, hasDemoModel, markbase, markbaseJson } from './run-markbase.js';

const root = temporaryFolder();
const BASE = fixture('31b-hf');

describe('markbase merge', () => {
  it('writes a checkpoint in which only the weights of the adapter differ', async () => {
    const target = join(root, 'merged');
    const args = ['merge', BASE, fixture('adapters/mlx'), target];
    const { merged } = await markbaseJson<{ merged: string[] }>(args);
    expect(merged).toHaveLength(6);
    const [before, after] = [await openCheckpoint(BASE), await openCheckpoint(target)];
    const changed: string[] = [];
    for (const [name, tensor] of before.weights.entries()) {
      const other = after.weights.tensor(name);
      expect([other.name, other.dtype, other.shape]).toEqual([tensor.name, tensor.dtype, tensor.shape]);
      if (Buffer.compare(await tensor.read(), await other.read()) !== 0) changed.push(name);
    }
    expect(changed.sort()).toEqual(merged.map((module) => `${module}.weight`).sort());
  });

  it('refuses quantised weights, and says what to do', async () => {
    const args = ['merge', fixture('e2b-mlx-4bit'), fixture('adapters/mlx'), join(root, 'never')];
    expect(await markbase(args)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('original weights'),
    });
  });
});

describe.skipIf(!hasDemoModel)('markbase generate --adapter', () => {
  it('answers with the adapter', async () => {
    const answer = async (name: string, size: number) => {
      const adapter = await writeAdapter(DEMO_MODEL, join(root, name), size);
      const args = ['--prompt', 'What is 31 + 90?', '--temperature', '0', '--max-tokens', '16'];
      return (await markbase(['generate', '--model', DEMO_MODEL, '--adapter', adapter, ...args])).stdout;
    };
    expect(await answer('nothing', 0)).toContain('31 + 90 = 121');
    expect(await answer('noise', 1000)).not.toContain('31 + 90 = 121');
  });
});
