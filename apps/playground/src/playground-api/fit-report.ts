import { stat } from 'node:fs/promises';
import { estimate, isRepositoryName, openCheckpoint, openRemoteCheckpoint } from '@markbase/loader';
import { memoryOf } from './machine.js';
import type { FitReport, LoadRequest } from './playground-types.js';

/**
 * Memory needs of a model on a device of this machine, from its headers; for a repository on the hub, a few kilobytes
 * are downloaded.
 *
 * @throws the loader's errors
 */
export async function fitReport(
  request: Pick<LoadRequest, 'model' | 'device' | 'precision' | 'contextTokens' | 'maxSequences'>,
  signal: AbortSignal,
): Promise<FitReport> {
  const { model, device, precision, contextTokens, maxSequences } = request;
  const isHere = await stat(model).then(
    () => true,
    () => false,
  );
  const remote = !isHere && isRepositoryName(model) ? await openRemoteCheckpoint(model, { signal }) : null;
  const source = remote ?? (await openCheckpoint(model, { signal }));
  const memoryBytes = await memoryOf(device);
  const memory = estimate(source, {
    precision,
    sequences: maxSequences,
    memoryBytes,
    ...(contextTokens !== null && { contextTokens }),
  });
  const hasTokenizer = 'hasTokenizer' in source ? source.hasTokenizer : source.files.tokenizer !== null;
  const { totalBytes, weightBytes, cacheBytes, activationBytes, fit, activePerToken } = memory;
  return {
    totalBytes,
    weightBytes,
    cacheBytes,
    activationBytes,
    memoryBytes,
    fits: fit?.fits ?? true,
    maxContextTokens: fit?.maxContextTokens ?? 0,
    maxPositions: source.config.text.maxPositions,
    bytesPerToken: activePerToken.total,
    missingFile: hasTokenizer ? null : 'tokenizer.json',
    downloadBytes: remote ? remote.sizeBytes : null,
  };
}
