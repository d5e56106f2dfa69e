import { localModels } from '../models/local-models.js';
import type { KnownModel } from './playground-types.js';

/** Models that can be loaded without a download: of the demo package, in the hub's cache, in configured folders. */
export async function knownModels(): Promise<KnownModel[]> {
  const models = await localModels();
  return models.map(({ name, kind, directory, format, sizeBytes, isComplete }) => ({
    name,
    kind,
    // A repository is loaded by its name: an interrupted download then continues.
    model: kind === 'cache' ? name : directory,
    format,
    sizeBytes,
    isComplete,
  }));
}
