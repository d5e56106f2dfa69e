import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { RooflineReport } from '../../../src/playground-api/playground-types.js';
import { describeError } from '../api/describe-error.js';
import { postJson } from '../api/playground-api.js';
import { formatBytes } from '../model/format.js';
import { loadedModel } from '../model/model-state.js';
import { Panel } from '../shell/panel.js';
import { AnswerTable } from './answer-table.js';
import { LivePlots } from './live-plots.js';
import { RooflineChart } from './roofline-chart.js';
import { followPerformance } from './samples.js';

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
        Measures how close the steps of the loaded model come to the rate at which the device reads its
        memory. Takes a few seconds, during which answers are slower.
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
  const { points, readBytesPerSecond, readRateSource } = report;
  return (
    <>
      <RooflineChart report={report} />
      <table>
        <thead>
          <tr>
            <th scope="col">step</th>
            <th scope="col">tokens/s</th>
            <th scope="col">time per token</th>
            <th scope="col">of memory rate</th>
          </tr>
        </thead>
        <tbody>
          {points.map(({ name, tokensPerSecond, operationsPerByte, operationsPerSecond }, index) => (
            <tr key={name}>
              <th scope="row">
                {index + 1}. {name}
              </th>
              <td>{tokensPerSecond.toFixed(0)}</td>
              <td>{Number((1000 / tokensPerSecond).toPrecision(2))} ms</td>
              <td>
                {readBytesPerSecond === null
                  ? '–'
                  : `${((100 * operationsPerSecond) / operationsPerByte / readBytesPerSecond).toFixed(0)} %`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="hint">
        {readBytesPerSecond === null
          ? 'How fast this GPU reads its memory is not known.'
          : `The device reads ${formatBytes(readBytesPerSecond)}/s, ${readRateSource}. The line is that limit, and the best rate of any step.`}
      </p>
    </>
  );
}
