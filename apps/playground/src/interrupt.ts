import { EXIT_INTERRUPTED } from './errors.js';

/**
 * Runs work that Ctrl-C (or SIGTERM) cancels.
 *
 * The first signal aborts the work and lets it clean up; a second one ends the process immediately.
 *
 * @returns what `work` returns
 * @throws the platform's AbortError after a signal, regardless of how the work ended
 */
export async function withInterrupt<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const controller = new AbortController();
  const onSignal = () => {
    if (controller.signal.aborted) process.exit(EXIT_INTERRUPTED);
    controller.abort();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  try {
    const result = await work(controller.signal);
    controller.signal.throwIfAborted();
    return result;
  } catch (error) {
    controller.signal.throwIfAborted();
    throw error;
  } finally {
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
  }
}
