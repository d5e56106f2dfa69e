import { describe, expect, it } from 'vitest';
import { Random } from '../../fuzz/random.js';
import { rangeServer } from '../../test/range-server.js';
import { rawSafetensors } from '../../test/raw-safetensors.js';
import { openSafetensors } from '../safetensors/open-safetensors.js';

const DATA = Uint8Array.from({ length: 4000 }, (_, index) => (index * 7) % 251);
const FILE = rawSafetensors('{"a":{"dtype":"U8","shape":[4000],"data_offsets":[0,4000]}}', DATA);
const ROUNDS = 300;

/** A response to a request for bytes `begin` to `end`, with no, one or several lies. */
function randomAnswer(random: Random, begin: number, end: number) {
  const lie = (): number => (random.below(6) === 0 ? random.pick([-1, 1, 8, -8]) : 0);
  const [first, last, size, length] = [begin + lie(), end - 1 + lie(), FILE.length + lie(), lie()];
  const status = random.below(8) === 0 ? random.pick([200, 204, 416, 500]) : 206;
  const unit = random.below(12) === 0 ? random.pick(['byte', 'items', '']) : 'bytes';
  const range = `${unit} ${Math.max(0, first)}-${last}/${random.below(12) === 0 ? '*' : size}`;
  const encoding = random.below(12) === 0 ? 'br' : 'identity';
  const body = FILE.slice(begin, Math.max(begin, end + length));
  const isHonest =
    status === 206 &&
    range === `bytes ${begin}-${end - 1}/${FILE.length}` &&
    encoding === 'identity' &&
    body.length === end - begin;
  return { status, range, encoding, body, isHonest };
}

describe('a server that lies at random', () => {
  it.each([1, 2])('is only trusted if it does not lie, with seed %i', async (seed) => {
    const random = new Random(seed);
    let isHonest = true;
    const { url } = await rangeServer(FILE, (response, begin, end) => {
      const answer = randomAnswer(random, begin, end);
      isHonest &&= answer.isHonest;
      const headers = { 'content-range': answer.range, 'content-encoding': answer.encoding };
      response.writeHead(answer.status, { ...headers, 'content-length': answer.body.length });
      response.end(answer.status === 204 ? undefined : answer.body);
    });
    let honestCount = 0;
    for (let round = 0; round < ROUNDS; round++) {
      isHonest = true;
      const attempt = openSafetensors(url, { firstRequestBytes: 100, maxRetries: 0 }).then((file) =>
        file.tensors.get('a')!.read(),
      );
      const result = await attempt.catch((error: unknown) => error);
      if (isHonest) {
        honestCount++;
        expect(Buffer.compare(result as Uint8Array, DATA)).toBe(0);
      } else {
        expect(result).toMatchObject({ code: expect.stringMatching(/^(DOWNLOAD|CORRUPT_FILE)$/) });
      }
    }
    expect(honestCount).toBeGreaterThan(10);
    expect(honestCount).toBeLessThan(ROUNDS / 2);
  });
});
