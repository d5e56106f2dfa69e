import { resolveCheckpoint } from '@markbase/loader';
import { startProgress } from './progress.js';

/** The folder that `--model` names: a path as it is, `org/name` from the hub or its cache, with progress. */
export async function checkpointFolder(model: string, signal: AbortSignal | undefined): Promise<string> {
  const progress = startProgress(`downloading ${model}`);
  try {
    return await resolveCheckpoint(model, {
      ...(signal && { signal }),
      onProgress: ({ doneBytes, totalBytes, file }) => progress.update(doneBytes, totalBytes, file),
    });
  } finally {
    progress.finish();
  }
}
