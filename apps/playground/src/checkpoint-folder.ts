import { stat } from 'node:fs/promises';
import { InvalidArgumentError } from '@markbase/core';
import { DownloadError, isRepositoryName } from '@markbase/loader';
import { homePath } from './home-path.js';
import { type LocalModel, localModels } from './models/local-models.js';
import { startProgress } from './progress.js';
import { similarName } from './similar-name.js';

/**
 * The folder for `--model`: a path is used as it is; `org/name` comes from the hub or its cache, with progress; other
 * names are those that `markbase list` shows.
 *
 * @param model default: the demo model
 * @throws InvalidArgumentError if there is no such model; DownloadError
 */
export async function checkpointFolder(
  model: string | undefined,
  signal: AbortSignal | undefined,
): Promise<string> {
  if (model === undefined) return demoModel();
  const path = homePath(model);
  if (await exists(path)) return path;
  if (isRepositoryName(model)) return downloadedFolder(model, signal);
  const known = await localModels();
  const found = named(model, known);
  if (found?.kind === 'cache' && !found.isComplete) return downloadedFolder(found.name, signal);
  if (found) return found.directory;
  throw new InvalidArgumentError({
    argument: 'model',
    expected: 'a checkpoint folder, org/name on the hub, or a name that "markbase list" shows',
    received: model,
    ...suggestion(model, known),
  });
}

/** The folder of a model on this machine that is given by its name; anything else, such as a path, is returned as it is. */
export async function localFolder(model: string): Promise<string> {
  const path = homePath(model);
  if ((await exists(path)) || isRepositoryName(model) || /[\\/]/.test(model)) return path;
  return named(model, await localModels())?.directory ?? path;
}

function named(model: string, known: readonly LocalModel[]): LocalModel | undefined {
  const wanted = model.toLowerCase();
  return known.find(({ name }) =>
    [name, name.split('/').at(-1)!].some((each) => each.toLowerCase() === wanted),
  );
}

function suggestion(model: string, known: readonly LocalModel[]): { hint?: string } {
  const meant = similarName(
    model,
    known.map(({ name }) => name),
  );
  return meant === null ? {} : { hint: `Did you mean ${meant}?` };
}

async function demoModel(): Promise<string> {
  try {
    return (await import('@markbase/demo-model')).modelPath;
  } catch (cause) {
    throw new InvalidArgumentError({
      argument: 'model',
      expected: 'a model: the package @markbase/demo-model is not installed',
      received: undefined,
      cause,
    });
  }
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
