import { closeSync, openSync, writeSync } from 'node:fs';
import { generate } from './generate.js';
import { judge } from './judge.js';
import { mutate } from './mutate.js';
import { Random } from './random.js';
import { referenceTensors } from './reference-acceptance.js';
import { seedFiles } from './seeds.js';

/**
 * Writes files with the verdicts of the reader and of the restated rules, for a comparison with the reference reader itself: one byte (bit
 * 0: the reader accepts, bit 1: the rules accept), four bytes of length, the file.
 */
export async function writeCases(path: string, count: number, seed: number, fixtures: string): Promise<void> {
  const random = new Random(seed);
  const seeds = seedFiles(fixtures);
  const output = openSync(path, 'w');
  for (let index = 0; index < count; index++) {
    const base = random.below(3) === 0 ? random.pick(seeds) : generate(random);
    const file = random.below(3) === 0 ? base : mutate(base, random.pick(seeds), random);
    const verdict = await judge(file);
    const frame = new Uint8Array(5 + file.length);
    frame[0] = (verdict === 'accepted' ? 1 : 0) | (referenceTensors(file) === null ? 0 : 2);
    new DataView(frame.buffer).setUint32(1, file.length, true);
    frame.set(file, 5);
    writeSync(output, frame);
  }
  closeSync(output);
}
