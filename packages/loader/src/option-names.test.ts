import { InvalidArgumentError } from '@markbase/core';
import { expect, it } from 'vitest';
import {
  diffCheckpoints,
  downloadCheckpoint,
  estimate,
  mergeAdapter,
  openCheckpoint,
  openRemoteCheckpoint,
  openSafetensors,
  quantizeCheckpoint,
  removeCachedModel,
  resolveCheckpoint,
  shardCheckpoint,
  validateCheckpoint,
  writeSafetensors,
  writeShardedCheckpoint,
} from './index.js';

/** As plain JavaScript calls it: the types would refuse these names. */
const call = (run: (options: never) => unknown, options: object) => async () => run(options as never);

it.each([
  ['diffCheckpoints', (options: never) => diffCheckpoints('a', 'b', options), 'vaules', 'values'],
  ['downloadCheckpoint', (options: never) => downloadCheckpoint('a/b', options), 'cache_dir', 'cacheDir'],
  ['estimate', (options: never) => estimate({} as never, options), 'context_tokens', 'contextTokens'],
  ['mergeAdapter', (options: never) => mergeAdapter('a', 'b', 'c', options), 'dType', 'dtype'],
  ['openCheckpoint', (options: never) => openCheckpoint('a', options), 'on_warning', 'onWarning'],
  ['openRemoteCheckpoint', (options: never) => openRemoteCheckpoint('a/b', options), 'Revision', 'revision'],
  [
    'openSafetensors',
    (options: never) => openSafetensors(new Uint8Array(), options),
    'max_retries',
    'maxRetries',
  ],
  [
    'quantizeCheckpoint',
    (options: never) => quantizeCheckpoint('a', 'b', options),
    'group_size',
    'groupSize',
  ],
  ['removeCachedModel', (options: never) => removeCachedModel('a/b', options), 'cachedir', 'cacheDir'],
  ['resolveCheckpoint', (options: never) => resolveCheckpoint('a/b', options), 'off_line', 'offline'],
  [
    'shardCheckpoint',
    (options: never) => shardCheckpoint('a', 'b', options),
    'maxShardByte',
    'maxShardBytes',
  ],
  ['validateCheckpoint', (options: never) => validateCheckpoint('a', options), 'value', 'values'],
  ['writeSafetensors', (options: never) => writeSafetensors('a', [], options), 'meta_data', 'metadata'],
  [
    'writeShardedCheckpoint',
    (options: never) => writeShardedCheckpoint('a', [], options),
    'max_shard_bytes',
    'maxShardBytes',
  ],
])('%s refuses an option that it does not have, and suggests one', async (_, run, name, meant) => {
  await expect(call(run, { [name]: 1 })).rejects.toThrow(InvalidArgumentError);
  await expect(call(run, { [name]: 1 })).rejects.toThrow(
    `${name}: expected no option of this name, received 1. Did you mean ${meant}?`,
  );
});
