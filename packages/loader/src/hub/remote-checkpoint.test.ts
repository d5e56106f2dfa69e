import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type HubServer, type Misbehaviour, startHub } from '../../../../fixtures/hub-server.js';
import { fixture } from '../../../../fixtures/locate.js';
import { rawSafetensors } from '../../test/raw-safetensors.js';
import { E2B } from '../../test/released-configs.js';
import { openCheckpoint } from '../checkpoint/open-checkpoint.js';
import { estimate } from '../estimate/estimate.js';
import { openRemoteCheckpoint } from './remote-checkpoint.js';

const CONFIG = JSON.stringify(E2B);

function open(hub: HubServer) {
  return openRemoteCheckpoint('org/name', {
    endpoint: hub.endpoint,
    token: null,
    maxRetries: 1,
    retryDelayMs: 1,
  });
}

/** A file of `count` one-byte tensors, named by `prefix` and a number. */
function manyTensors(prefix: string, count: number): Buffer {
  const entries = Array.from(
    { length: count },
    (_, i) => `"${prefix}${i}":{"dtype":"U8","shape":[1],"data_offsets":[${i},${i + 1}]}`,
  );
  return Buffer.from(rawSafetensors(`{${entries.join(',')}}`, new Uint8Array(count)));
}

describe('openRemoteCheckpoint', () => {
  it('gives the same estimate as the files themselves, from their headers', async () => {
    const folder = fixture('e2b-mlx-4bit');
    const file = (name: string) => readFileSync(join(folder, name));
    const weights = file('model.safetensors');
    const hub = await startHub({ 'config.json': file('config.json'), 'model.safetensors': weights });
    const remote = await open(hub);
    const local = await openCheckpoint(folder);
    const options = { contextTokens: 100, memoryBytes: 1e9 };
    expect(estimate(remote, options)).toEqual(estimate(local, options));
    expect(remote.sizeBytes).toBe(local.sizeBytes);
    expect(remote.quantization).toMatchObject({ bits: 4, groupSize: 64 });
    const name = 'language_model.norm.weight';
    const range = new Map(remote.weights.entries()).get(name)!.range;
    expect(range.offsetBytes).toBe(local.weights.tensor(name).range.offsetBytes);
    const asked = hub.seen.filter(({ path }) => path.endsWith('.safetensors')).map(({ range }) => range);
    expect(asked[0]).toBe('bytes=0-131071');
    expect(asked.length).toBeLessThanOrEqual(2);
  });

  it.each([1500, 2500])('requests the rest of a long header, here of %i tensors', async (count) => {
    const hub = await startHub({ 'config.json': CONFIG, 'model.safetensors': manyTensors('t', count) });
    expect([...(await open(hub)).weights.entries()]).toHaveLength(count);
  });

  it('reads the files that the index names, and no others', async () => {
    const index = { weight_map: { a0: 'one.safetensors', b0: 'two.safetensors' } };
    const hub = await startHub({
      'config.json': CONFIG,
      'model.safetensors.index.json': JSON.stringify(index),
      'one.safetensors': manyTensors('a', 1),
      'two.safetensors': manyTensors('b', 1),
      'consolidated.safetensors': manyTensors('a', 1),
    });
    expect(Array.from((await open(hub)).weights.entries(), ([name]) => name)).toEqual(['a0', 'b0']);
    hub.files.delete('two.safetensors');
    await expect(open(hub)).rejects.toMatchObject({ rule: 'ShardMissing' });
  });

  it('reads only as much as needed from a server that ignores ranges', async () => {
    const ignoring: Misbehaviour = ({ path, content, response }) => {
      if (!path.endsWith('.safetensors')) return false;
      response.writeHead(200).end(content);
      return true;
    };
    const small = await startHub({ 'config.json': CONFIG, 'model.safetensors': manyTensors('t', 10) });
    small.misbehave = ignoring;
    expect([...(await open(small)).weights.entries()]).toHaveLength(10);
    const large = await startHub({ 'config.json': CONFIG, 'model.safetensors': manyTensors('t', 5000) });
    large.misbehave = ignoring;
    await expect(open(large)).rejects.toMatchObject({ rule: 'RangeNotHonoured', status: 200 });
  });

  it.each<[string, Record<string, string>]>([
    ['another range', { 'content-range': 'bytes 1-99/999' }],
    ['no range', {}],
    ['a compressed one', { 'content-encoding': 'gzip', 'content-range': 'bytes 0-9/10' }],
  ])('refuses %s', async (_, headers) => {
    const hub = await startHub({ 'config.json': CONFIG, 'model.safetensors': manyTensors('t', 10) });
    hub.misbehave = ({ path, content, response }) => {
      if (!path.endsWith('.safetensors')) return false;
      response.writeHead(206, headers).end(content);
      return true;
    };
    await expect(open(hub)).rejects.toMatchObject({ code: 'DOWNLOAD', rule: 'RangeNotHonoured' });
  });

  it.each<[string, Uint8Array, string]>([
    ['7 bytes', new Uint8Array(7), 'HeaderTooSmall'],
    ['an empty header', rawSafetensors(''), 'InvalidHeader'],
    ['a header beyond the end', rawSafetensors('{}').subarray(0, 9), 'InvalidHeaderLength'],
    ['a header of 2^64 - 1 bytes', new Uint8Array(20).fill(255), 'HeaderTooLarge'],
    ['bytes that belong to no tensor', rawSafetensors('{}', new Uint8Array(5)), 'MetadataIncompleteBuffer'],
  ])('refuses a file with %s', async (_, bytes, rule) => {
    const hub = await startHub({ 'config.json': CONFIG, 'model.safetensors': Buffer.from(bytes) });
    await expect(open(hub)).rejects.toMatchObject({ code: 'CORRUPT_FILE', rule });
  });

  it('says that a repository has no safetensors file', async () => {
    const hub = await startHub({ 'config.json': CONFIG, 'pytorch_model.bin': 'x' });
    await expect(open(hub)).rejects.toMatchObject({ code: 'DOWNLOAD', rule: 'NotFound' });
  });
});
