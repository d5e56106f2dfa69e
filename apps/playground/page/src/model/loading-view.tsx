import { formatBytes, formatDuration } from './format.js';
import { cancelLoading, type LoadingState } from './model-state.js';

const STAGES: Readonly<Record<LoadingState['stage'], string>> = {
  open: 'Looking at the files',
  download: 'Downloading',
  unload: 'Waiting for running answers',
  load: 'Mapping weights',
  'warm-up': 'Warming up',
};

/** Progress and rate of loading, and a button to cancel it. */
export function LoadingView({ state }: { readonly state: LoadingState }) {
  const { stage, doneBytes, totalBytes, bytesPerSecond, file } = state;
  const isCounted = totalBytes > 0;
  const name = stage === 'load' && isCounted ? 'Copying weights to the GPU' : STAGES[stage];
  const remainingMs =
    bytesPerSecond && bytesPerSecond > 0 ? ((totalBytes - doneBytes) * 1000) / bytesPerSecond : null;
  return (
    <div class="loading">
      <p role="status">
        {name}
        {file && `: ${file}`}
      </p>
      {/* Without a value, the bar only shows that something is happening. */}
      <progress
        aria-label="Progress of loading"
        max={isCounted ? totalBytes : undefined}
        value={isCounted ? doneBytes : undefined}
      />
      {isCounted && (
        <p class="hint">
          {formatBytes(doneBytes)} of {formatBytes(totalBytes)}
          {bytesPerSecond !== null && `, ${formatBytes(bytesPerSecond)}/s`}
          {remainingMs !== null && `, ${formatDuration(remainingMs)} left`}
        </p>
      )}
      <button type="button" onClick={cancelLoading}>
        Cancel
      </button>
    </div>
  );
}
