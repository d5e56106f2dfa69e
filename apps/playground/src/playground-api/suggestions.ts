import { readdir } from 'node:fs/promises';
import { defaultCacheDir } from '@markbase/loader';
import type { PlaygroundState } from './playground-types.js';

const CACHE_FOLDER = /^models--([^-]+(?:-[^-]+)*)--(.+)$/;

/** Models on this machine: those of the demo package, and repositories in the hub's cache that look like Gemma. */
export async function suggestions(): Promise<PlaygroundState['suggestions']> {
  const [demo, cached] = await Promise.all([demoModels(), cachedRepositories()]);
  return [...demo, ...cached];
}

async function demoModels(): Promise<PlaygroundState['suggestions']> {
  try {
    const { modelPath, moeModelPath } = await import('@markbase/demo-model');
    return [
      { name: 'Demo model', model: modelPath },
      { name: 'Demo model with experts', model: moeModelPath },
    ];
  } catch {
    return [];
  }
}

async function cachedRepositories(): Promise<PlaygroundState['suggestions']> {
  const names = await readdir(defaultCacheDir()).catch(() => []);
  return names
    .map((name) => CACHE_FOLDER.exec(name))
    .filter((match) => match !== null && /gemma/i.test(match[2]!))
    .map((match) => `${match![1]}/${match![2]}`)
    .map((model) => ({ name: 'Downloaded', model }));
}
