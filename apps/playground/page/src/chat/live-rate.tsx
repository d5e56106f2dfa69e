import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { runningAnswers } from './running-answers.js';

const STEP_MS = 500;
/** A rate over less time says little. */
const SHORTEST_MS = 1000;

/** How long an answer has been arriving, and how fast. */
export function LiveRate({ id }: { readonly id: string }) {
  const nowMs = useSignal(performance.now());
  useEffect(() => {
    const timer = setInterval(() => {
      nowMs.value = performance.now();
    }, STEP_MS);
    return () => clearInterval(timer);
  }, []);
  const running = runningAnswers.value.get(id);
  if (!running) return null;
  const { startedAtMs, firstAtMs, pieces } = running;
  const sinceFirst = firstAtMs === null ? 0 : nowMs.value - firstAtMs;
  const rate = sinceFirst >= SHORTEST_MS ? ` · ${((pieces * 1000) / sinceFirst).toFixed(0)} tok/s` : '';
  return (
    <span class="hint live-rate">
      {Math.max(0, Math.floor((nowMs.value - startedAtMs) / 1000))} s{rate}
    </span>
  );
}
