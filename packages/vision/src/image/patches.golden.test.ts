import { readFileSync } from 'node:fs';
import { openSafetensors } from '@markbase/loader';
import { describe, expect, it } from 'vitest';
import { fixture } from '../../../../fixtures/locate.js';
import { patchify } from './patches.js';
import { prepareImage } from './prepare-image.js';
import { resizeImage } from './resize-image.js';
import type { RgbImage } from './rgb-image.js';
import { targetSize } from './target-size.js';

interface Case {
  case: number;
  height: number;
  width: number;
  soft_tokens: number;
  patches_wide: number;
  patches_high: number;
}

const BUDGET = 70;
const TOWER = { patchEdge: 16, blockEdge: 3 };
const UNIFIED = { patchEdge: 48, blockEdge: 1 };
const CASES: Case[] = JSON.parse(readFileSync(fixture('image_preprocess.json'), 'utf8'));

const file = await openSafetensors(fixture('image_preprocess.safetensors'));

async function bytes(name: string): Promise<Uint8Array> {
  return new Uint8Array(await file.tensors.get(name)!.read());
}

async function reference(test: Case): Promise<{ image: RgbImage; patches: Uint8Array }> {
  const image = { width: test.width, height: test.height, data: await bytes(`case${test.case}.image`) };
  return { image, patches: await bytes(`case${test.case}.patches_u8`) };
}

describe.each(CASES)('reference picture $case, $width x $height', (test) => {
  it('gives the bytes of the reference', async () => {
    const { image, patches: expected } = await reference(test);
    const made = await prepareImage(image, { budget: BUDGET, layout: TOWER });
    const { patchCount, patchWidth, pixels, positions, softTokens } = made.patches;
    expect([softTokens, made.width / 16, made.height / 16]).toEqual([
      test.soft_tokens,
      test.patches_wide,
      test.patches_high,
    ]);
    expect(patchCount).toBe(test.patches_wide * test.patches_high);
    let largest = 0;
    let sum = 0;
    let compared = 0;
    for (let patch = 0; patch < patchCount; patch++) {
      // The reference lists patches row by row, for the whole picture or its upper part.
      const row = positions[patch * 2 + 1]! * test.patches_wide + positions[patch * 2]!;
      if ((row + 1) * patchWidth > expected.length) continue;
      compared++;
      for (let value = 0; value < patchWidth; value++) {
        const difference = Math.abs(
          pixels[patch * patchWidth + value]! - expected[row * patchWidth + value]!,
        );
        largest = Math.max(largest, difference);
        sum += difference;
      }
    }
    expect(compared * patchWidth).toBe(expected.length);
    expect(compared).toBeGreaterThan(100);
    expect({ largest, sum }).toEqual({ largest: 0, sum: 0 });
  });

  it('has the same pixels in patches of 48', async () => {
    const { image } = await reference(test);
    const resized = resizeImage(image, targetSize(image.width, image.height, BUDGET));
    const small = patchify(resized, TOWER);
    const large = patchify(resized, UNIFIED);
    expect([large.patchCount, large.patchWidth]).toEqual([test.soft_tokens, 6912]);
    for (let block = 0; block < large.softTokens; block++) {
      for (const [x, y, channel] of [
        [0, 0, 0],
        [17, 5, 1],
        [40, 47, 2],
      ] as const) {
        const inner = Math.floor(y / 16) * 3 + Math.floor(x / 16);
        const inSmall = (block * 9 + inner) * 768 + ((y % 16) * 16 + (x % 16)) * 3 + channel;
        expect(large.pixels[block * 6912 + (y * 48 + x) * 3 + channel]).toBe(small.pixels[inSmall]);
      }
    }
  });
});
