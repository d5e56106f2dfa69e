import { formatBytes, formatDuration } from './format.js';
import { cancelLoading, type LoadingState } from './model-state.js';

const STAGES: Readonly<Record<LoadingState['stage'], string>> = {
  open: 'Looking at the files',
  download: 'Downloading',
  unload: 'Waiting for running answers',
  load: 'Mapping weights',
  'warm-up': 'Answering a first prompt',
};

/** How far loading is, how fast it goes, and how to stop it. */
export function LoadingView({ state }: { readonly state: LoadingState }) {
  const { stage, doneBytes, totalBytes, bytesPerSecond, file } = state;
  const isCounted = totalBytes > 0;
  const remainingMs =
    bytesPerSecond && bytesPerSecond > 0 ? ((totalBytes - doneBytes) * 1000) / bytesPerSecond : null;
  return (
    <div class="loading">
      <p role="status">
        {STAGES[stage]}
        {file && `: ${file}`}
      </p>
      {/* Without a value the bar only says that something happens. */}
      <progress
        aria-label="Progress of loading"
        max={isCounted ? totalBytes : undefined}
        value={isCounted ? doneBytes : undefined}
      />
      {isCounted && (
        <p class="hint">
          {formatBytes(doneBytes)} of {formatBytes(totalBytes)}
          {bytesPerSecond !== null && `, ${formatBytes(bytesPerSecond)} a second`}
          {remainingMs !== null && `, ${formatDuration(remainingMs)} to go`}
        </p>
      )}
      <button type="button" onClick={cancelLoading}>
        Cancel
      </button>
    </div>
  );
}
