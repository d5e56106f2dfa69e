import type { FitReport } from '../../../src/playground-api/playground-types.js';
import { formatBytes, formatCount } from './format.js';

/** Whether a model fits in memory, as a sentence and a bar. */
export function FitView({ report }: { readonly report: FitReport }) {
  const { totalBytes, memoryBytes, fits, maxContextTokens, maxPositions, downloadBytes } = report;
  if (report.missingFile !== null) {
    return (
      <p class="fit too-large" role="status">
        <strong>It cannot chat.</strong> It has no {report.missingFile}, without which text cannot be turned
        into tokens. Add the file, or choose another checkpoint.
      </p>
    );
  }
  const parts = [
    { name: 'weights', bytes: report.weightBytes },
    { name: 'caches', bytes: report.cacheBytes },
    { name: 'steps', bytes: report.activationBytes },
  ];
  return (
    <div class={`fit ${fits ? 'fits' : 'too-large'}`} role="status">
      <strong>{fits ? 'It fits.' : 'It does not fit.'}</strong> It needs {formatBytes(totalBytes)} of{' '}
      {formatBytes(memoryBytes)}: {parts.map(({ name, bytes }) => `${formatBytes(bytes)} ${name}`).join(', ')}
      . Each token reads {formatBytes(report.bytesPerToken)}.{!fits && ` ${advice(maxContextTokens)}`}
      {fits &&
        maxContextTokens < maxPositions &&
        ` A context of up to ${formatCount(maxContextTokens, 'token')} would fit.`}
      {downloadBytes !== null && ` First, ${formatBytes(downloadBytes)} will be downloaded.`}
      <progress
        max={memoryBytes}
        value={Math.min(totalBytes, memoryBytes)}
        aria-label="Share of the memory"
      />
    </div>
  );
}

function advice(maxContextTokens: number): string {
  return maxContextTokens > 0
    ? `Choose a context of at most ${formatCount(maxContextTokens, 'token')}, or fewer answers at once.`
    : 'Use a smaller model, or one with fewer bits.';
}
