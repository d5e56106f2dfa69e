const WIDTH = 192;
const HEIGHT = 32;

/** A sound as bars, one per peak. */
export function Waveform({ peaks, label }: { readonly peaks: readonly number[]; readonly label: string }) {
  const step = WIDTH / Math.max(1, peaks.length);
  return (
    <svg class="waveform" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
      {peaks.map((peak, index) => {
        const height = Math.max(1, peak * HEIGHT);
        // A peak has no identity other than its position.
        return (
          <rect key={index} x={index * step} y={(HEIGHT - height) / 2} width={step * 0.7} height={height} />
        );
      })}
    </svg>
  );
}
