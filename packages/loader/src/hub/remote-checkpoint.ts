import { CorruptFileError, checkOptionNames } from '@markbase/core';
import { INDEX_FILE } from '../checkpoint/shards.js';
import { type AbsentTowers, presentTowers, sidecarNames } from '../checkpoint/towers.js';
import { canonicalName } from '../checkpoint/weight-names.js';
import { ConfigReader } from '../config/config-reader.js';
import { type ModelConfig, parseModelConfig } from '../config/model-config.js';
import { parseQuantization, type QuantizationConfig } from '../config/quantization-config.js';
import type { StoredSize } from '../estimate/estimate.js';
import { MAX_CONFIG_BYTES, MAX_INDEX_BYTES } from '../limits.js';
import { DownloadError } from './download-error.js';
import { HttpClient } from './http-client.js';
import { checkedRepository, HUB_OPTIONS, type HubOptions, hubSettings } from './hub-options.js';
import { remoteHeader } from './remote-header.js';
import { fileAddress, getJson, type RepositoryFile, repositoryInfo } from './repository-info.js';

/** A tensor on a hub: what its header says, and where it is. */
export interface RemoteTensor extends StoredSize {
  /** `path` is the address of the file. */
  readonly range: { readonly path: string; readonly offsetBytes: number; readonly sizeBytes: number };
}

/** What config.json and the headers of a checkpoint on a hub say; for `estimate`, before anything is downloaded. */
export interface RemoteCheckpoint {
  /** The repository, `org/name`. */
  readonly repository: string;
  /** The commit that was read, 40 hexadecimal digits. */
  readonly commit: string;
  /** Towers without tensors are null. */
  readonly config: ModelConfig;
  /** Why the checkpoint takes no pictures or no sound; null = it does. */
  readonly absent: AbsentTowers;
  /** How matrices are quantised; null if none is. */
  readonly quantization: QuantizationConfig | null;
  /** Tensors by canonical name. */
  readonly weights: { entries(): Iterable<readonly [string, RemoteTensor]> };
  /** Bytes of all tensors. */
  readonly sizeBytes: number;
  /** False if prompts must be token ids. */
  readonly hasTokenizer: boolean;
}

/**
 * Reads config.json and the headers of all weight files of a repository, a few kilobytes each; no tensor is read.
 *
 * @throws InvalidArgumentError, DownloadError, CorruptFileError, InvalidConfigError, UnsupportedModelError
 */
export async function openRemoteCheckpoint(
  repository: string,
  options: HubOptions = {},
): Promise<RemoteCheckpoint> {
  checkOptionNames(options, HUB_OPTIONS);
  const settings = hubSettings(options);
  const client = new HttpClient(settings);
  const { commit, files } = await repositoryInfo(client, checkedRepository(repository));
  const addressOf = (path: string): string => fileAddress(settings.endpoint, repository, commit, path);
  const configUrl = addressOf('config.json');
  const json = await client.retry(() => getJson(client, configUrl, MAX_CONFIG_BYTES));
  const claimed = parseModelConfig(json, configUrl);
  const reader = new ConfigReader(json, configUrl);
  const quantization = parseQuantization(reader);
  const chosen = await weightFileNames(client, files, addressOf);
  for (const name of sidecarNames(reader)) chosen.add(name);
  const weightFiles = files.filter(({ path }) => chosen.has(path));
  if (weightFiles.length === 0) {
    const reason = 'it has no safetensors file; only checkpoints in this format are read';
    throw new DownloadError({ rule: 'NotFound', url: `${settings.endpoint}/${repository}`, reason });
  }
  const tensors = new Map<string, RemoteTensor>();
  for (const { path, sizeBytes } of weightFiles) {
    const url = addressOf(path);
    const { entries, dataStart } = await remoteHeader(client, url, sizeBytes);
    for (const { name, dtype, shape, begin, end } of entries.values()) {
      const canonical = canonicalName(name);
      if (tensors.has(canonical)) {
        const reason = `the tensor "${name}" is in two files or under two names`;
        throw new CorruptFileError({ rule: 'DuplicateKey', path: url, reason });
      }
      tensors.set(canonical, {
        dtype,
        shape,
        range: { path: url, offsetBytes: dataStart + begin, sizeBytes: end - begin },
      });
    }
  }
  const { config, absent } = presentTowers(claimed, tensors.keys());
  const sizeBytes = [...tensors.values()].reduce((sum, { range }) => sum + range.sizeBytes, 0);
  const hasTokenizer = files.some(({ path }) => path === 'tokenizer.json');
  return { repository, commit, config, absent, quantization, weights: tensors, sizeBytes, hasTokenizer };
}

/** Files that the index names; else `model.safetensors`; else every safetensors file at the root. */
async function weightFileNames(
  client: HttpClient,
  files: readonly RepositoryFile[],
  addressOf: (path: string) => string,
): Promise<Set<string>> {
  const names = files.map(({ path }) => path).filter((path) => /^[^./][^/]*\.safetensors$/.test(path));
  if (files.some(({ path }) => path === INDEX_FILE)) {
    const url = addressOf(INDEX_FILE);
    const index = new ConfigReader(await client.retry(() => getJson(client, url, MAX_INDEX_BYTES)), url);
    const table = index.object('weight_map') ?? index.fail('weight_map', 'an object');
    const named = new Set(table.keys().map((tensor) => table.string(tensor, '')));
    const missing = [...named].find((name) => !names.includes(name));
    if (missing === undefined && named.size > 0) return named;
    if (missing === undefined) return new Set(names);
    const reason = `the repository has no file ${JSON.stringify(missing.slice(0, 120))}`;
    throw new CorruptFileError({ rule: 'ShardMissing', path: url, reason });
  }
  return new Set(names.includes('model.safetensors') ? ['model.safetensors'] : names);
}
