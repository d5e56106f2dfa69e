import { stat } from 'node:fs/promises';
import {
  DownloadError,
  type DownloadOptions,
  type DownloadRule,
  downloadCheckpoint,
  isRepositoryName,
} from '@markbase/loader';

/** Longest silence of the hub before it counts as unreachable. */
const REACH_MS = 10_000;
/** Failures that may pass. */
const PASSING: readonly DownloadRule[] = ['Network', 'RateLimited', 'ServerError'];

/**
 * The folder of a checkpoint that is given as a path or as `org/name`. A path is used as it is; a name comes from the
 * hub, or from its cache if the hub cannot be reached. A download that was interrupted continues where it stopped.
 *
 * @throws DownloadError: `NotCached`, without retries and with advice, if the hub cannot be reached and the cache does
 *   not have the model; otherwise as `downloadCheckpoint`
 */
export async function checkpointFolder(model: string, options: DownloadOptions = {}): Promise<string> {
  const isHere = await stat(model).then(
    () => true,
    () => false,
  );
  if (isHere || !isRepositoryName(model)) return model;
  let hasBegun = false;
  try {
    return await download(model, {
      stallTimeoutMs: REACH_MS,
      ...options,
      maxRetries: 0,
      onProgress: (progress) => {
        hasBegun = true;
        options.onProgress?.(progress);
      },
    });
  } catch (error) {
    if (!(error instanceof DownloadError)) throw error;
    if (error.rule === 'NotCached') throw offlineError(model, error.reason, error);
    if (error.rule === 'Network' && !hasBegun) return cachedFolder(model, options, error);
    if (PASSING.includes(error.rule)) return download(model, options);
    throw error;
  }
}

async function download(model: string, options: DownloadOptions): Promise<string> {
  return (await downloadCheckpoint(model, options)).directory;
}

/** What an earlier download left, if it is complete. */
async function cachedFolder(
  model: string,
  options: DownloadOptions,
  failure: DownloadError,
): Promise<string> {
  try {
    return await download(model, { ...options, offline: true });
  } catch (error) {
    // An abort or a full disk says nothing about the hub.
    if (!(error instanceof DownloadError)) throw error;
    throw offlineError(model, `the hub cannot be reached: ${failure.reason}`, failure);
  }
}

function offlineError(model: string, reason: string, cause: DownloadError): DownloadError {
  const advice = [
    'Connect this machine to the network',
    `or run "npx @markbase/loader download ${model}" on one that is connected and pass the folder`,
    'or start with the model of @markbase/demo-model, which needs no download',
  ].join(', ');
  return new DownloadError({ rule: 'NotCached', url: model, reason: `${reason}. ${advice}`, cause });
}
