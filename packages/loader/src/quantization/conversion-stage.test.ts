import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fixture } from '../../../../fixtures/locate.js';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { killConversions, visibleFiles } from '../../test/kill-conversion.js';
import { groupOf } from '../safetensors/tensor-group.js';
import { planShards } from '../safetensors/write-sharded-checkpoint.js';
import { ConversionStage, STAGE_FOLDER } from './conversion-stage.js';
import { type QuantizeOptions, quantizeCheckpoint } from './quantize-checkpoint.js';

const root = temporaryFolder();
/** Number of killed conversions; a long run sets it to 200 or more. */
const KILLS = Number(process.env.MARKBASE_KILLS ?? 8);

/** Ten tensors of 100 bytes; the one named `broken` fails. `read` collects the names of tensors that are read. */
function shardOf(read: string[], broken: string | null) {
  const groups = Array.from({ length: 10 }, (_, index) =>
    groupOf({
      name: `t${index}`,
      dtype: 'U8',
      shape: [100],
      *chunks() {
        read.push(`t${index}`);
        yield new Uint8Array(60).fill(index);
        if (broken === `t${index}`) throw new RangeError('broken');
        yield new Uint8Array(40).fill(index);
      },
    }),
  );
  return planShards(groups, 1e9, {})[0]!;
}

describe('ConversionStage', () => {
  it('resumes after the last safely written group, within a file', async () => {
    const target = join(root, 'within');
    const ignore = () => {};
    const first = await ConversionStage.open(target, 'same', true, 250);
    await expect(first.writeShard(shardOf([], 't7'), undefined, ignore)).rejects.toThrow('broken');
    const read: string[] = [];
    const second = await ConversionStage.open(target, 'same', true, 250);
    let bytes = 0;
    const shard = shardOf(read, null);
    await second.writeShard(shard, undefined, (count) => {
      bytes += count;
    });
    // Every third group brings 300 bytes to the disk.
    expect(read).toEqual(['t6', 't7', 't8', 't9']);
    expect(second.resumedBytes).toBe(600);
    expect(bytes).toBe(shard.layout.totalBytes);
    await second.commit();
    const whole = join(root, 'whole');
    const undisturbed = await ConversionStage.open(whole, 'same', false);
    await undisturbed.writeShard(shardOf([], null), undefined, ignore);
    await undisturbed.commit();
    expect(await visibleFiles(target)).toEqual(await visibleFiles(whole));
    expect(await readdir(target)).toEqual(['model.safetensors']);
  });

  it('starts over with another fingerprint, or without resume', async () => {
    for (const [fingerprint, resume] of [
      ['other', true],
      ['same', false],
    ] as const) {
      const target = join(root, `anew-${fingerprint}`);
      const first = await ConversionStage.open(target, 'same', true);
      await first.writeShard(shardOf([], null), undefined, () => {});
      const read: string[] = [];
      const second = await ConversionStage.open(target, fingerprint, resume);
      await second.writeShard(shardOf(read, null), undefined, () => {});
      expect([read.length, second.resumedBytes]).toEqual([10, 0]);
    }
  });

  it('does not trust a note without a file', async () => {
    const target = join(root, 'note');
    await ConversionStage.open(target, 'same', true);
    await writeFile(join(target, STAGE_FOLDER, 'model.safetensors.groups'), '5');
    const stage = await ConversionStage.open(target, 'same', true);
    const read: string[] = [];
    await stage.writeShard(shardOf(read, null), undefined, () => {});
    expect(read).toHaveLength(10);
  });
});

describe('quantizeCheckpoint with resume', () => {
  const source = fixture('31b-hf');
  const options: QuantizeOptions = { bits: 4, groupSize: 64, maxShardBytes: 60_000, resume: true };

  it('keeps finished files after an abort, and replaces an older checkpoint only as a whole', async () => {
    const target = join(root, 'abort');
    await mkdir(target);
    await writeFile(join(target, 'config.json'), 'old');
    const controller = new AbortController();
    const onProgress = ({ doneBytes, totalBytes }: { doneBytes: number; totalBytes: number }) => {
      if (doneBytes > totalBytes / 2) controller.abort();
    };
    const aborted = quantizeCheckpoint(source, target, { ...options, signal: controller.signal, onProgress });
    await expect(aborted).rejects.toMatchObject({ name: 'AbortError' });
    expect(await readFile(join(target, 'config.json'), 'utf8')).toBe('old');
    expect((await readdir(target)).sort()).toEqual([STAGE_FOLDER, 'config.json']);
    let last = { doneBytes: 0, totalBytes: -1 };
    const report = await quantizeCheckpoint(source, target, {
      ...options,
      onProgress: (progress) => {
        last = progress;
      },
    });
    expect(report.resumedBytes).toBeGreaterThan(report.targetBytes / 4);
    expect(last.doneBytes).toBe(last.totalBytes);
    const whole = join(root, 'not-aborted');
    await quantizeCheckpoint(source, whole, { ...options, resume: false });
    expect(await visibleFiles(target)).toEqual(await visibleFiles(whole));
    expect((await readdir(target)).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  it('starts over if the source changed', async () => {
    const target = join(root, 'changed');
    const report = await quantizeCheckpoint(source, target, { ...options, bits: 8 });
    expect(report.resumedBytes).toBe(0);
    // A finished conversion leaves no folder to resume from.
    expect((await quantizeCheckpoint(source, target, options)).resumedBytes).toBe(0);
  });

  it(`leaves no torn file, killed at ${KILLS} random moments`, { timeout: KILLS * 15_000 }, async () => {
    const whole = join(root, 'undisturbed');
    await quantizeCheckpoint(source, whole, options);
    const breaches: string[] = [];
    const random = seeded(20_261_129);
    const expected = await visibleFiles(whole);
    const report = await killConversions(source, join(root, 'killed'), expected, KILLS, random, (breach) =>
      breaches.push(breach),
    );
    expect(breaches).toEqual([]);
    expect(report.kills).toBe(KILLS);
    expect(report.completed).toBeGreaterThan(0);
    if (KILLS >= 50) expect(report.resumed).toBeGreaterThan(0);
    if (KILLS >= 50) console.log(`${KILLS} kills: ${JSON.stringify(report)}`);
  });
});

/** Numbers from 0 to 1, the same in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
