import type { Choice } from '../engine/choice.js';
import type { Advance } from '../engine/decode-queue.js';
import type { PromptRows } from '../engine/prompt.js';
import type { Sequence } from '../engine/sequence.js';
import type { TextModel } from '../text-model.js';
import { RunAhead } from './run-ahead.js';
import type { TokenRun } from './token-run.js';

/** A token of one of several answers. */
export interface RunChoice {
  readonly run: TokenRun;
  readonly choice: Choice;
}

/** Options that apply to all runs. */
export interface RunTokensOptions {
  readonly signal?: AbortSignal;
  readonly onPrefill?: (progress: { readonly doneTokens: number; readonly totalTokens: number }) => void;
}

interface ActiveRun {
  readonly run: TokenRun;
  readonly sequence: Sequence;
  readonly answer: RunAhead | null;
  token: number;
}

/**
 * Generates several answers at once: prompts share prefill steps, tokens share decode steps. A run without a free
 * sequence starts when another one ends. A run that prepares its next token skips steps. A run accepts each choice before
 * it is yielded, and the receiver may then stop the run.
 *
 * @throws the signal's reason when aborted, during prefill or decode; errors of the device, such as DeviceError
 */
export async function* runTokens(
  model: TextModel,
  runs: readonly TokenRun[],
  options: RunTokensOptions = {},
): AsyncGenerator<RunChoice, void, void> {
  const waiting = [...runs];
  const held = new Set<Sequence>();
  const preparing = new Map<TokenRun, Promise<void>>();
  let active: ActiveRun[] = [];

  const retire = (): void => {
    const finished = active.filter(({ run }) => run.finish !== null);
    active = active.filter(({ run }) => run.finish === null);
    for (const { sequence } of finished) held.delete(sequence);
    model.release(finished.map(({ sequence }) => sequence));
  };

  /** The runs whose next token can be sampled. */
  const ready = (): ActiveRun[] => {
    for (const { run } of active) {
      if (preparing.has(run)) continue;
      const prepared = run.prepare(options.signal);
      // An error comes up again when the token is sampled.
      const over = () => void preparing.delete(run);
      if (prepared) preparing.set(run, prepared.then(over, over));
    }
    return active.filter(({ run }) => !preparing.has(run));
  };

  try {
    while (waiting.length > 0 || active.length > 0) {
      const room = Math.min(waiting.length, model.settings.maxSequences - active.length, model.idleSequences);
      // If none of its own runs is active, it waits for a sequence and for blocks.
      let count = active.length === 0 ? Math.max(room, 1) : room;
      while (active.length > 0 && count > 0 && !model.isReadyFor(waiting.slice(0, count).map(promptOf)))
        count--;
      const starting = waiting.splice(0, count);
      if (starting.length > 0) {
        const started = await start(model, starting, held, options);
        active.push(...started.map(({ active }) => active));
        for (const { active, choice } of started) yield { run: active.run, choice };
      } else {
        const stepping = model.fitting(ready());
        if (stepping.length === 0) {
          await Promise.race(preparing.values());
          options.signal?.throwIfAborted();
          continue;
        }
        const rows = stepping.map(({ sequence, token, run, answer }) => ({
          ...{ sequence, token, sampling: run.sampling },
          ...(answer && { answer }),
        }));
        const advances = await model.advance(rows, { ...(options.signal && { signal: options.signal }) });
        for (const [index, advance] of advances.entries()) {
          const current = stepping[index]!;
          for (const choice of accepted(current, advance)) yield { run: current.run, choice };
        }
      }
      retire();
    }
  } finally {
    model.release([...held]);
  }
}

/** Accepts what a step has brought a run; nothing follows the token that ends the answer. */
function* accepted(active: ActiveRun, { choices, draftedTokens }: Advance): Generator<Choice, void, void> {
  const { run, answer } = active;
  run.rejectedTokens += draftedTokens - (choices.length - 1);
  for (const [index, choice] of choices.entries()) {
    if (run.finish !== null) return;
    active.token = choice.token;
    if (index > 0) run.acceptedTokens++;
    run.accept(choice);
    answer?.push(choice);
    yield choice;
  }
}

/** The prompt of a run, and what it may take over. */
function promptOf({ prompt, settings: { reusePrefix } }: TokenRun): PromptRows {
  if (reusePrefix === true) return prompt;
  return { ...prompt, reuse: reusePrefix || 'none' };
}

async function start(
  model: TextModel,
  runs: readonly TokenRun[],
  held: Set<Sequence>,
  { signal, onPrefill }: RunTokensOptions,
): Promise<{ active: ActiveRun; choice: Choice }[]> {
  await Promise.all(runs.map((run) => run.prepare(signal)));
  const sequences = await model.acquire(runs.map(promptOf), signal);
  for (const sequence of sequences) held.add(sequence);
  const jobs = runs.map((run, index) => {
    const sequence = sequences[index]!;
    return { sequence, rows: run.prompt, sampling: run.sampling };
  });
  const choices = await model.prefill(jobs, {
    ...(signal && { signal }),
    ...(onPrefill && { onProgress: onPrefill }),
  });
  return choices.map((choice, index) => {
    const run = runs[index]!;
    run.cachedTokens = sequences[index]!.reusedTokens;
    run.accept(choice);
    const answer = run.settings.speculation ? new RunAhead(run) : null;
    answer?.push(choice);
    return { active: { run, sequence: sequences[index]!, answer, token: choice.token }, choice };
  });
}
