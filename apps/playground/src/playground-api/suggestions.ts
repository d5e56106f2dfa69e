import { localModels } from '../models/local-models.js';
import type { PlaygroundState } from './playground-types.js';

const LABELS = { demo: 'Demo model', cache: 'Downloaded', folder: 'Folder' } as const;

/** Models on this machine; those in the cache by the name of their repository. */
export async function suggestions(): Promise<PlaygroundState['suggestions']> {
  return (await localModels()).map(({ name, kind, directory }) => ({
    name: name === 'demo-experts' ? 'Demo model with experts' : LABELS[kind],
    model: kind === 'cache' ? name : directory,
  }));
}
