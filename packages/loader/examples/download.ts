import { downloadCheckpoint, hasErrorCode, openCheckpoint } from '@markbase/loader';

try {
  const { directory, commit, receivedBytes } = await downloadCheckpoint('google/gemma-4-e2b-it', {
    revision: 'main',
    signal: AbortSignal.timeout(3_600_000),
    onProgress: ({ doneBytes, totalBytes, file }) =>
      process.stderr.write(`\r${doneBytes} / ${totalBytes} ${file}`),
  });
  console.log(directory, commit, receivedBytes, (await openCheckpoint(directory)).config.modelType);
} catch (error) {
  // What was received is kept; the next call continues from there.
  if (!hasErrorCode(error, 'DOWNLOAD')) throw error;
  console.error(error.message);
}
