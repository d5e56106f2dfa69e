import type { AnswerStatistics } from '../conversation/conversation.js';
import { formatCount, formatDuration } from '../model/format.js';
import { ratesOf } from './answers.js';

/** What an answer took, in one line; pointing at it or opening it shows the details. */
export function Cost({ statistics }: { readonly statistics: AnswerStatistics }) {
  const { promptTokens, cachedTokens, completionTokens, firstTokenMs, totalMs } = statistics;
  const { prefillPerSecond, decodePerSecond } = ratesOf(statistics);
  const details = [
    ['Prompt', formatCount(promptTokens, 'token')],
    ['of these reused', formatCount(cachedTokens, 'token')],
    ['Prompt rate', rate(prefillPerSecond)],
    ['Answer', formatCount(completionTokens, 'token')],
    ['Answer rate', rate(decodePerSecond)],
    ['To the first token', formatDuration(firstTokenMs)],
    ['In all', formatDuration(totalMs)],
  ] as const;
  const summary = [
    formatCount(completionTokens, 'token'),
    decodePerSecond !== null && `${decodePerSecond.toFixed(decodePerSecond < 10 ? 1 : 0)} tok/s`,
    `${(firstTokenMs / 1000).toFixed(2)} s to first`,
  ];
  return (
    <details
      class="cost"
      onPointerEnter={({ currentTarget, pointerType }) => {
        if (pointerType === 'mouse') currentTarget.open = true;
      }}
      onPointerLeave={({ currentTarget, pointerType }) => {
        if (pointerType === 'mouse') currentTarget.open = false;
      }}
    >
      <summary>{summary.filter(Boolean).join(' · ')}</summary>
      <dl class="facts">
        {details.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

function rate(perSecond: number | null): string {
  return perSecond === null ? 'too short to measure' : `${perSecond.toFixed(1)} tokens/s`;
}
