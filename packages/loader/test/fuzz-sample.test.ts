import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { explore } from '../fuzz/explore.js';
import { judge } from '../fuzz/judge.js';
import { seedFiles } from '../fuzz/seeds.js';
import { rawSafetensors } from './raw-safetensors.js';

const EXECUTIONS = 10_000;
const FIXTURES = fileURLToPath(new URL('../../../fixtures', import.meta.url));

describe('the fuzzer, without guidance', () => {
  it.each([1, 2])('finds nothing with seed %i', async (seed) => {
    const isDone = ({ executions }: { readonly executions: number }) => executions >= EXECUTIONS;
    const { findings, verdicts } = await explore({
      seed,
      seeds: seedFiles(FIXTURES),
      isDone,
    });
    expect(findings).toEqual([]);
    expect(verdicts.accepted).toBeGreaterThan(EXECUTIONS / 20);
    expect(verdicts.refused).toBeGreaterThan(EXECUTIONS / 2);
  });

  it.each([
    ['accepted', '{"a":{"dtype":"F4","shape":[4],"data_offsets":[0,2]}}', 2],
    ['refused', '{"a":{"dtype":"F4","shape":[4],"data_offsets":[0,2]}}', 3],
    ['refused', '{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}}', 2],
    ['refused', '{"a":{"x":1e999,"dtype":"U8","shape":[2],"data_offsets":[0,2]}}', 2],
    ['refused', '{"a":{"dtype":"U8","shape":[4294967296,4294967296,0],"data_offsets":[0,0]}}', 0],
    ['stricter', '{"a":{"dtype":"U8","shape":[0,4294967296,4294967296],"data_offsets":[0,0]}}', 0],
    ['accepted', '{"a":{"dtype":"U8","shape":[4294967296,0,4096],"data_offsets":[0,0]}}', 0],
    ['stricter', '{"__metadata__":{"a":"1","a":"2"}}', 0],
    ['stricter', '{"a":{"dtype":"U8","shape":[9007199254740992,0],"data_offsets":[0,0]}}', 0],
  ])('judges as %s: %s', async (verdict, header, dataBytes) => {
    expect(await judge(rawSafetensors(header, new Uint8Array(dataBytes)))).toBe(verdict);
  });
});
