import { isFile, isFolder } from '../files/file-access.js';
import { type DownloadOptions, downloadCheckpoint } from './download-checkpoint.js';
import { isRepositoryName } from './hub-options.js';

/**
 * The folder of a checkpoint that is given as a path or as `org/name`: a local folder is used as it is; anything else of
 * that form comes from the hub or its cache.
 *
 * @returns a folder for `openCheckpoint`; a path that is neither is returned unchanged, and opening it reports what is wrong
 * @throws as `downloadCheckpoint`
 */
export async function resolveCheckpoint(model: string, options: DownloadOptions = {}): Promise<string> {
  const isHere = (await isFolder(model)) || (await isFile(model));
  if (isHere || !isRepositoryName(model)) return model;
  return (await downloadCheckpoint(model, options)).directory;
}
