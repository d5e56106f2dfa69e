import { stat } from 'node:fs/promises';
import { InvalidArgumentError } from '@markbase/core';
import { DownloadError, isRepositoryName } from '@markbase/loader';
import { homePath } from './home-path.js';
import { localModels } from './models/local-models.js';
import { startProgress } from './progress.js';
import { similarName } from './similar-name.js';

/**
 * The folder for `--model`: a path is used as it is; `org/name` comes from the hub or its cache, with progress; other
 * names are those that `markbase list` shows.
 *
 * @throws InvalidArgumentError if there is no such model; DownloadError
 */
export async function checkpointFolder(model: string, signal: AbortSignal | undefined): Promise<string> {
  const path = homePath(model);
  if (await exists(path)) return path;
  if (isRepositoryName(model)) return downloadedFolder(model, signal);
  const known = await localModels();
  const wanted = model.toLowerCase();
  const found = known.find(({ name }) =>
    [name, name.split('/').at(-1)!].some((n) => n.toLowerCase() === wanted),
  );
  if (found?.kind === 'cache' && !found.isComplete) return downloadedFolder(found.name, signal);
  if (found) return found.directory;
  const meant = similarName(
    model,
    known.map(({ name }) => name),
  );
  throw new InvalidArgumentError({
    argument: 'model',
    expected: 'a checkpoint folder, org/name on the hub, or a name that "markbase list" shows',
    received: model,
    ...(meant !== null && { hint: `Did you mean ${meant}?` }),
  });
}

async function downloadedFolder(model: string, signal: AbortSignal | undefined): Promise<string> {
  const { checkpointFolder: find } = await import('@markbase/gemma');
  const progress = startProgress(`downloading ${model}`);
  progress.say(`looking for ${model}`);
  try {
    return await find(model, {
      ...(signal && { signal }),
      onProgress: ({ doneBytes, totalBytes, file }) => progress.update(doneBytes, totalBytes, file),
    });
  } catch (error) {
    throw await withSuggestion(error, model);
  } finally {
    progress.finish();
  }
}

/** Adds a model of this machine that was probably meant. */
async function withSuggestion(error: unknown, model: string): Promise<unknown> {
  if (!(error instanceof DownloadError) || !['NotFound', 'Unauthorized', 'NotCached'].includes(error.rule)) {
    return error;
  }
  const meant = similarName(
    model,
    (await localModels()).map(({ name }) => name),
  );
  if (meant === null) return error;
  const { rule, url, reason, cause } = error;
  return new DownloadError({ rule, url, reason: `${reason}; did you mean ${meant}?`, cause });
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
