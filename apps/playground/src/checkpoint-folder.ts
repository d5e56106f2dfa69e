import { startProgress } from './progress.js';

/** The folder for `--model`: a path is used as is, `org/name` comes from the hub or its cache, with progress. */
export async function checkpointFolder(model: string, signal: AbortSignal | undefined): Promise<string> {
  const { checkpointFolder: find } = await import('@markbase/gemma');
  const progress = startProgress(`downloading ${model}`);
  try {
    return await find(model, {
      ...(signal && { signal }),
      onProgress: ({ doneBytes, totalBytes, file }) => progress.update(doneBytes, totalBytes, file),
    });
  } finally {
    progress.finish();
  }
}
