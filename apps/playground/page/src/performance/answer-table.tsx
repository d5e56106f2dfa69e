import { formatDuration } from '../model/format.js';
import { answers, ratesOf } from './answers.js';

const SHOWN = 6;

/** The last answers: time to the first token, rates, and the split between prompt and answer. */
export function AnswerTable() {
  const latest = answers.value.slice(-SHOWN).reverse();
  if (latest.length === 0) return <p class="hint">Send a message to see the statistics of its answer.</p>;
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">in / out</th>
          <th scope="col">first token</th>
          <th scope="col">prompt/s</th>
          <th scope="col">answer/s</th>
          <th scope="col">split</th>
        </tr>
      </thead>
      <tbody>
        {latest.map((answer, index) => {
          const { prefillPerSecond, decodePerSecond, prefillShare } = ratesOf(answer);
          const percent = Math.round(100 * prefillShare);
          return (
            <tr key={answers.value.length - index}>
              <td>
                {answer.promptTokens} / {answer.completionTokens}
              </td>
              <td>{formatDuration(answer.firstTokenMs)}</td>
              <td>{prefillPerSecond?.toFixed(0) ?? '–'}</td>
              <td>{decodePerSecond?.toFixed(1) ?? '–'}</td>
              <td>
                <meter
                  min={0}
                  max={100}
                  value={percent}
                  aria-label={`${percent}% of the time was spent on the prompt`}
                />
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
