import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { modelPath } from './index.js';

const measure = fileURLToPath(new URL('../../../tools/demo-model/measure-media.mjs', import.meta.url));
const heldOut = fileURLToPath(new URL('../held-out', import.meta.url));

describe('the dense model on held-out pictures and clips, run by our own engine on the CPU', () => {
  let report = '';

  beforeAll(async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [measure, modelPath, heldOut, 'fast']);
    report = stdout;
  }, 240_000);

  /** The two counts of a set's line: `scenes: 256 of 256 attributes right (100.0 %)`. */
  function counts(set: string): [number, number] {
    const match = new RegExp(`^${set}: (\\d+) of (\\d+) `, 'm').exec(report);
    expect(match, report).not.toBeNull();
    return [Number(match?.[1]), Number(match?.[2])];
  }

  it('describes at least 95 % of the attributes of fifty scenes correctly', () => {
    const [right, all] = counts('scenes');
    expect(all).toBeGreaterThanOrEqual(256);
    expect(right / all, report).toBeGreaterThanOrEqual(0.95);
  });

  it('describes most attributes of photographs correctly, though they differ from its training data', () => {
    const [right, all] = counts('photographs');
    expect(all).toBeGreaterThanOrEqual(45);
    expect(right / all, report).toBeGreaterThanOrEqual(0.8);
  });

  it('transcribes thirty clips of unseen voices and texts with at least 85 % of the words right', () => {
    const [wrong, words] = counts('speech');
    expect(words).toBe(160);
    expect(wrong / words, report).toBeLessThanOrEqual(0.15);
  });

  it('understands another synthesiser, too', () => {
    const [wrong, words] = counts('speech-other, flite');
    expect(words).toBe(42);
    expect(wrong / words, report).toBeLessThanOrEqual(0.3);
  });
});
