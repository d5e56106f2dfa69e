import type { Device, Program, StepResult } from '@markbase/metal-runtime';
import { ASSISTANT_PORTS, type ClusterPart, recordAssistant } from '../model/assistant.js';
import type { LoadedAssistant } from '../model/assistant-weights.js';
import { embedTokens } from '../model/decoder.js';
import type { Decoder } from '../model/layer.js';
import type { DraftRequest, DraftSource, GuessedAnswer, RunProgram } from './draft-source.js';

/** Most tokens of a guess. */
const REACH = 8;

/** What an assistant runs on. */
export interface AssistantSourceParts {
  readonly assistant: LoadedAssistant;
  /** The target. */
  readonly decoder: Decoder;
  readonly device: Device;
  readonly precision: 'high' | 'fast';
  /** Ids that are never sampled. */
  readonly suppressed: readonly number[];
}

/** The next guess of a request. */
interface Guess {
  readonly request: DraftRequest;
  readonly token: number;
  readonly hidden: Float32Array;
}

/** Guesses with the drafter that was trained for the model: a step of it per token. */
export class AssistantSource implements DraftSource {
  readonly name = 'assistant';
  readonly #parts: AssistantSourceParts;
  readonly #programs = new Map<number, Program>();

  constructor(parts: AssistantSourceParts) {
    this.#parts = parts;
  }

  reach({ hidden }: GuessedAnswer): number {
    return hidden === null ? 0 : REACH;
  }

  async draft(requests: readonly DraftRequest[], run: RunProgram): Promise<void> {
    let guesses = requests.map((request): Guess => {
      const { context, hidden } = request.answer;
      return { request, token: context.at(-1)!, hidden: hidden! };
    });
    while (guesses.length > 0) {
      const result = await this.#step(guesses, run);
      guesses = guesses.flatMap(({ request }, index) => {
        const row = { index, count: guesses.length };
        const token = this.#choice(result, row, request);
        if (!request.draft.push(token)) return [];
        return [{ request, token, hidden: rowOf(result, ASSISTANT_PORTS.next, row) }];
      });
    }
  }

  dispose(): void {
    for (const program of this.#programs.values()) program.dispose();
    this.#programs.clear();
    this.#parts.assistant.dispose();
  }

  #step(guesses: readonly Guess[], run: RunProgram): Promise<StepResult> {
    const { assistant } = this.#parts;
    const { head } = assistant.weights;
    const lengths = guesses.map(({ request }) => request.sequence.length);
    const hidden = new Float32Array(guesses.length * guesses[0]!.hidden.length);
    for (const [index, guess] of guesses.entries()) hidden.set(guess.hidden, index * guess.hidden.length);
    const ropes = assistant.frequencies.map(
      (frequencies, index) => [ASSISTANT_PORTS.rope(index), ropeTables(lengths, frequencies)] as const,
    );
    const isPlain = head.kind === 'plain';
    const step = {
      tokens: Int32Array.from(guesses, ({ token }) => token),
      // A guess sees what the target has computed: the positions before that of its token.
      positions: Int32Array.from(lengths, (length) => length - 1),
      slots: Int32Array.from(guesses, (_, index) => index),
      tables: guesses.map(({ request }) => request.sequence.table),
      outputRows: Int32Array.from(guesses, (_, index) => index),
      // Sampled as the target samples, with the same random number: then both choose the same token more often.
      ...(isPlain && {
        sampling: guesses.map(({ request }) => ({ ...request.draft.sampling, topLogprobs: 0 })),
      }),
      inputs: { [ASSISTANT_PORTS.hidden]: hidden, ...Object.fromEntries(ropes) },
    };
    const read: string[] = [ASSISTANT_PORTS.next];
    for (const index of isPlain ? [] : head.parts.keys())
      read.push(ASSISTANT_PORTS.clusters(index), ASSISTANT_PORTS.candidates(index));
    return run(this.#program(guesses.length), step, read);
  }

  #choice(result: StepResult, row: { index: number; count: number }, { draft }: DraftRequest): number {
    const { head } = this.#parts.assistant.weights;
    if (head.kind === 'plain') return result.tokens[row.index]!;
    return likeliest(result, row, head.parts, draft.sampling.allowed);
  }

  #program(rows: number): Program {
    const maxRows = 2 ** Math.ceil(Math.log2(rows));
    let program = this.#programs.get(maxRows);
    if (program) return program;
    const { device, precision, decoder, assistant, suppressed } = this.#parts;
    const label = `assistant ${maxRows}`;
    const options = { label, maxRows, maxOutputs: maxRows, precision, kernelsFor: 'few-rows' } as const;
    program = device.record(options, (ops) => {
      const logits = recordAssistant(ops, assistant.weights, embedTokens(ops, decoder, 0));
      if (logits) ops.sample(logits, { suppressed });
    });
    this.#programs.set(maxRows, program);
    return program;
  }
}

/** [rows, K]: cosines, then sines, of position · frequency. */
export function ropeTables(positions: readonly number[], frequencies: Float32Array): Float32Array {
  const pairs = frequencies.length;
  const tables = new Float32Array(positions.length * 2 * pairs);
  for (const [row, position] of positions.entries()) {
    for (const [pair, frequency] of frequencies.entries()) {
      tables[row * 2 * pairs + pair] = Math.cos(position * frequency);
      tables[row * 2 * pairs + pairs + pair] = Math.sin(position * frequency);
    }
  }
  return tables;
}

/** The id with the largest logit among those of the chosen clusters that the answer may have. */
function likeliest(
  result: StepResult,
  row: { readonly index: number; readonly count: number },
  parts: readonly ClusterPart[],
  allowed: Int32Array | undefined,
): number {
  let best = Number.NEGATIVE_INFINITY;
  let likeliest = 0;
  for (const [part, { ids, embeddings }] of parts.entries()) {
    const clusters = rowOf(result, ASSISTANT_PORTS.clusters(part), row);
    const logits = rowOf(result, ASSISTANT_PORTS.candidates(part), row);
    for (const [at, logit] of logits.entries()) {
      if (logit <= best) continue;
      const size = embeddings.rows;
      const id = ids[clusters[Math.floor(at / size)]! * size + (at % size)]!;
      if (allowed && ((allowed[id >> 5]! >>> (id & 31)) & 1) === 0) continue;
      best = logit;
      likeliest = id;
    }
  }
  return likeliest;
}

/** Row `index` of an output with `count` rows. */
function rowOf(
  result: StepResult,
  name: string,
  { index, count }: { readonly index: number; readonly count: number },
): Float32Array {
  const values = result.outputs[name]!;
  const width = values.length / count;
  return values.slice(index * width, (index + 1) * width);
}
