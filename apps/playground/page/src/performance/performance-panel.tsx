import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { RooflineReport } from '../../../src/playground-api/playground-types.js';
import { describeError } from '../api/describe-error.js';
import { postJson } from '../api/playground-api.js';
import { formatBytes, formatDuration } from '../model/format.js';
import { loadedModel } from '../model/model-state.js';
import { Panel } from '../shell/panel.js';
import { AnswerTable } from './answer-table.js';
import { Plot } from './plot.js';
import { RooflineChart } from './roofline-chart.js';
import { followPerformance, samples } from './samples.js';

/** Where time and memory go: live plots, the last answers, and the roofline of the loaded model. */
export function PerformancePanel() {
  useEffect(() => {
    const controller = new AbortController();
    void followPerformance(controller.signal);
    return () => controller.abort();
  }, []);
  return (
    <Panel id="performance" title="Performance">
      <LivePlots />
      <h3>Answers on this page</h3>
      <AnswerTable />
      <h3>Roofline</h3>
      <Roofline />
    </Panel>
  );
}

function LivePlots() {
  const all = samples.value;
  const now = all.at(-1);
  const seconds = all.map(({ atMs }) => Math.round((atMs - (now?.atMs ?? 0)) / 100) / 10);
  return (
    <>
      <Plot
        title="Tokens a second"
        seconds={seconds}
        format={(value) => value.toFixed(value < 10 ? 1 : 0)}
        lines={[
          { label: 'decode', color: 'series-1', values: all.map((sample) => sample.decodeTokensPerSecond) },
          { label: 'prefill', color: 'series-2', values: all.map((sample) => sample.prefillTokensPerSecond) },
        ]}
      />
      <Plot
        title="Memory"
        seconds={seconds}
        format={formatBytes}
        lines={[
          { label: 'process', color: 'series-1', values: all.map((sample) => sample.residentBytes) },
          { label: 'JavaScript', color: 'series-2', values: all.map((sample) => sample.heapBytes) },
        ]}
      />
      <Plot
        title={`Batch (of ${now?.slots ?? 0})`}
        seconds={seconds}
        format={(value) => value.toFixed(1)}
        lines={[
          { label: 'running', color: 'series-1', values: all.map((sample) => sample.running) },
          { label: 'rows per step', color: 'series-2', values: all.map((sample) => sample.meanBatch) },
        ]}
      />
      <Plot
        title="Cache in use"
        seconds={seconds}
        format={(value) => `${value.toFixed(value < 10 ? 1 : 0)} %`}
        lines={[{ label: '', color: 'series-1', values: all.map((sample) => 100 * sample.cacheUse) }]}
      />
    </>
  );
}

function Roofline() {
  const report = useSignal<RooflineReport | null>(null);
  const isMeasuring = useSignal(false);
  const failure = useSignal<string | null>(null);
  const measure = async () => {
    isMeasuring.value = true;
    failure.value = null;
    try {
      report.value = await postJson<RooflineReport>('roofline', {});
    } catch (error) {
      failure.value = describeError(error);
    } finally {
      isMeasuring.value = false;
    }
  };
  return (
    <>
      <p class="hint">
        Measures how fast this machine reads memory, and how close the steps of the loaded model come to that
        rate. Takes a few seconds, during which answers are slower.
      </p>
      <button type="button" disabled={isMeasuring.value || !loadedModel.value} onClick={() => void measure()}>
        {isMeasuring.value ? 'Measuring…' : 'Measure'}
      </button>
      {failure.value && (
        <p class="error" role="alert">
          {failure.value}
        </p>
      )}
      {report.value && <RooflineResult report={report.value} />}
    </>
  );
}

function RooflineResult({ report }: { readonly report: RooflineReport }) {
  return (
    <>
      <RooflineChart report={report} />
      <table>
        <thead>
          <tr>
            <th scope="col">step</th>
            <th scope="col">tokens/s</th>
            <th scope="col">time per token</th>
            <th scope="col">share of memory bandwidth</th>
          </tr>
        </thead>
        <tbody>
          {report.points.map(({ name, tokensPerSecond, operationsPerByte, operationsPerSecond }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{tokensPerSecond.toFixed(0)}</td>
              <td>{formatDuration(1000 / tokensPerSecond)}</td>
              <td>
                {((100 * operationsPerSecond) / operationsPerByte / report.readBytesPerSecond).toFixed(0)} %
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="hint">Memory read bandwidth: {formatBytes(report.readBytesPerSecond)}/s.</p>
    </>
  );
}
