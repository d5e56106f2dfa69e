import { readdir, readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { listCachedModels } from '@markbase/loader';
import { readConfigFile } from '../config/config-file.js';
import { homePath } from '../home-path.js';

/** A checkpoint on this machine. */
export interface LocalModel {
  /** What `--model` and `run` take: `demo`, `org/name`, or the name of the folder. */
  readonly name: string;
  /** demo: of the package; cache: downloaded from the hub; folder: in a configured folder. */
  readonly kind: 'demo' | 'cache' | 'folder';
  /** Folder of the checkpoint. */
  readonly directory: string;
  /** Format of the weights, such as `4-bit`, `mxfp4` or `bfloat16`; empty if unknown. */
  readonly format: string;
  readonly sizeBytes: number;
  /** False after an interrupted download, which the next one continues. */
  readonly isComplete: boolean;
  /** True if `removeCachedModel` removes it. */
  readonly isRemovable: boolean;
  /** Milliseconds since 1970. */
  readonly changedAtMs: number;
}

/** Longest listing of a configured folder. */
const MOST_MODELS = 500;
/** Folders are often sorted by publisher. */
const DEPTH = 2;

/**
 * Models on this machine: those of the demo package, those in the cache of the hub, and those in the folders that the
 * config file names under `models`.
 *
 * @param folders default: those of the config file
 */
export async function localModels(folders?: readonly string[]): Promise<LocalModel[]> {
  const named = folders ?? (await readConfigFile())?.models ?? [];
  const [demo, cached, ...inFolders] = await Promise.all([
    demoModels(),
    cachedModels(),
    ...named.map((folder) => modelsIn(resolve(homePath(folder)), DEPTH)),
  ]);
  return [...demo, ...cached, ...inFolders.flat().slice(0, MOST_MODELS)];
}

async function demoModels(): Promise<LocalModel[]> {
  try {
    const { modelPath, moeModelPath } = await import('@markbase/demo-model');
    const models = await Promise.all([
      folderModel(modelPath, 'demo', 'demo'),
      folderModel(moeModelPath, 'demo-experts', 'demo'),
    ]);
    return models.filter((model) => model !== null);
  } catch {
    return [];
  }
}

async function cachedModels(): Promise<LocalModel[]> {
  const models = await listCachedModels();
  return Promise.all(
    models.map(async ({ repository, directory, sizeBytes, isComplete, isOwn, changedAtMs }) => ({
      name: repository,
      kind: 'cache' as const,
      directory,
      format: formatOf(await configOf(directory)),
      sizeBytes,
      isComplete,
      isRemovable: isOwn,
      changedAtMs,
    })),
  );
}

/** Checkpoints in a folder and the folders inside it; the folder itself may be one. */
async function modelsIn(folder: string, depth: number): Promise<LocalModel[]> {
  const itself = await folderModel(folder, folder.split(/[\\/]/).at(-1)!, 'folder');
  if (itself) return [itself];
  if (depth === 0) return [];
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const inner = entries
    .filter((entry) => !entry.name.startsWith('.') && (entry.isDirectory() || entry.isSymbolicLink()))
    .slice(0, MOST_MODELS);
  const found = await Promise.all(inner.map(({ name }) => modelsIn(join(folder, name), depth - 1)));
  return found.flat();
}

/** null if the folder is not a Gemma 4 checkpoint. */
async function folderModel(
  directory: string,
  name: string,
  kind: 'demo' | 'folder',
): Promise<LocalModel | null> {
  const names = await readdir(directory).catch((): string[] => []);
  const weights = names.filter((file) => file.endsWith('.safetensors'));
  if (!names.includes('config.json') || weights.length === 0) return null;
  const config = await configOf(directory);
  if (!/^gemma4/.test(String(config.model_type))) return null;
  const sizes = await Promise.all(
    weights.map((file) =>
      stat(join(directory, file)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return {
    name,
    kind,
    directory,
    format: formatOf(config),
    sizeBytes: sizes.reduce((sum, size) => sum + size, 0),
    isComplete: true,
    isRemovable: false,
    changedAtMs: (await stat(directory)).mtimeMs,
  };
}

interface RawConfig {
  readonly model_type?: unknown;
  readonly quantization?: { readonly bits?: unknown; readonly mode?: unknown };
  readonly dtype?: unknown;
  readonly torch_dtype?: unknown;
}

function formatOf({ quantization, dtype, torch_dtype }: RawConfig): string {
  if (!quantization) return String(dtype ?? torch_dtype ?? '');
  const { bits, mode = 'affine' } = quantization;
  return mode === 'affine' ? `${bits}-bit` : String(mode);
}

/** Only for a listing: what is wrong with the file is said when the model is opened. */
async function configOf(directory: string): Promise<RawConfig> {
  try {
    return (JSON.parse(await readFile(join(directory, 'config.json'), 'utf8')) ?? {}) as RawConfig;
  } catch {
    return {};
  }
}
