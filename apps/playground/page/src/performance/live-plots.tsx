import { formatBytes } from '../model/format.js';
import { Plot } from './plot.js';
import { lastValue, samples, smoothed } from './samples.js';

const brief = (value: number) => String(Number(value.toPrecision(3)));

/** Speed, memory, batch and cache of the last minute. */
export function LivePlots() {
  const all = samples.value;
  const now = all.at(-1);
  const seconds = all.map(({ atMs }) => (atMs - now!.atMs) / 1000);
  const decode = smoothed(all.map((sample) => sample.decodeTokensPerSecond));
  const prefill = smoothed(all.map((sample) => sample.prefillTokensPerSecond));
  const rows = all.map((sample) => sample.meanBatch);
  const current = (values: readonly number[]) => values.at(-1) ?? 0;
  const line = (
    label: string,
    color: 'series-1' | 'series-2',
    values: readonly number[],
    shown = current(values),
  ) => ({ label, color, values, shown });
  return (
    <>
      <Plot
        title="Speed"
        unit="tokens/s"
        seconds={seconds}
        format={(value) => `${value.toFixed(value < 10 ? 1 : 0)} tok/s`}
        tick={brief}
        lines={[
          line('answers', 'series-1', decode, lastValue(decode)),
          line('prompts', 'series-2', prefill, lastValue(prefill)),
        ]}
      />
      <Plot
        title="Memory"
        unit="GB"
        seconds={seconds}
        format={formatBytes}
        tick={(value) => brief(value / 1e9)}
        lines={[
          line(
            'process',
            'series-1',
            all.map((sample) => sample.residentBytes),
          ),
          line(
            'JavaScript',
            'series-2',
            all.map((sample) => sample.heapBytes),
          ),
        ]}
      />
      <Plot
        title={`Answers at once, of ${now?.slots ?? 0}`}
        unit="answers"
        seconds={seconds}
        format={brief}
        lines={[
          line(
            'running',
            'series-1',
            all.map((sample) => sample.running),
          ),
          line('rows per step', 'series-2', rows, lastValue(rows)),
        ]}
      />
      <Plot
        title="Cache in use"
        unit="%"
        seconds={seconds}
        format={(value) => `${value.toFixed(value < 10 ? 1 : 0)} %`}
        tick={brief}
        lines={[
          line(
            '',
            'series-1',
            all.map((sample) => 100 * sample.cacheUse),
          ),
        ]}
      />
    </>
  );
}
