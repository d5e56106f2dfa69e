import { BLOCK_TOKENS, type Device, type Program, type Value } from '@markbase/metal-runtime';
import { HIDDEN_OUTPUT, LOGITS_OUTPUT, recordDecoder } from '../model/decoder.js';
import type { Decoder } from '../model/layer.js';

/** Name of the output of `Programs.observed` with the residual stream after `index` layers. */
export function hiddenOutput(index: number): string {
  return `hidden.${index}`;
}

/** Names of the inputs of `Programs.copy` with the block that each row is copied from, of full and of sliding layers. */
export const COPY_SOURCE_INPUTS = ['full source', 'sliding source'] as const;

/** Settings that all programs of a model share. */
export interface ProgramSettings {
  readonly device: Device;
  readonly decoder: Decoder;
  readonly precision: 'high' | 'fast';
  readonly checkFinite: boolean;
  readonly fusions?: false | { without: readonly string[] };
  /** Ids that are never sampled. */
  readonly suppressed: readonly number[];
  readonly maxSequences: number;
  /** Rows of a prefill step. */
  readonly prefillChunk: number;
  /** Steps of prompts and tokens output the hidden states that an assistant goes on from. */
  readonly hasHidden: boolean;
}

/** The recorded programs of a model; each is recorded on first use. */
export class Programs {
  readonly #settings: ProgramSettings;
  readonly #recorded = new Map<string, Program>();

  constructor(settings: ProgramSettings) {
    this.#settings = settings;
  }

  /** Fills the caches; outputs logits and a token for the last row of each prompt. */
  prefill(rows: number, hasSoftTokens: boolean): Program {
    const { prefillChunk, maxSequences } = this.#settings;
    const maxRows = rows <= prefillChunk ? prefillChunk : powerOfTwo(rows);
    return this.#record(`prefill ${maxRows}${hasSoftTokens ? ' with soft tokens' : ''}`, {
      maxRows,
      maxOutputs: Math.min(maxSequences, maxRows),
      rowsOfInterest: 'last',
      maxSoftTokens: hasSoftTokens ? maxRows : 0,
      kernelsFor: 'many-rows',
    });
  }

  /** Outputs of steps of prompts and tokens that are read in any case. */
  get read(): readonly string[] {
    return this.#settings.hasHidden ? [HIDDEN_OUTPUT] : [];
  }

  /** `width` rows, each an output: a token for each of as many sequences, or fewer with guessed tokens. */
  decode(width: number): Program {
    const maxRows = Math.min(powerOfTwo(width), Math.max(this.#settings.maxSequences, width));
    return this.#record(`decode ${maxRows}`, {
      maxRows,
      maxOutputs: maxRows,
      rowsOfInterest: 'all',
      maxSoftTokens: 0,
      kernelsFor: 'few-rows',
    });
  }

  /** Copies positions of one block to the block of the rows' sequence. */
  copy(): Program {
    const { device, decoder, precision } = this.#settings;
    return this.#once('copy', (label) =>
      device.record({ label, maxRows: BLOCK_TOKENS, maxOutputs: 0, precision }, (ops) => {
        const [full, sliding] = COPY_SOURCE_INPUTS.map((name) =>
          ops.input(name, 'T', { axis: 'X', size: 1 }),
        );
        const caches = new Set(decoder.layers.map((layer) => layer.attention.cache));
        for (const cache of caches) ops.copyKv(cache, cache.windowTokens === null ? full! : sliding!);
      }),
    );
  }

  /** Every row is an output, and the residual stream after every layer can be read; for verification. */
  observed(rows: number, hasSoftTokens: boolean): Program {
    const maxRows = powerOfTwo(rows);
    return this.#record(`observed ${maxRows}${hasSoftTokens ? ' with soft tokens' : ''}`, {
      maxRows,
      maxOutputs: maxRows,
      rowsOfInterest: 'all',
      maxSoftTokens: hasSoftTokens ? maxRows : 0,
      isObserved: true,
    });
  }

  dispose(): void {
    for (const program of this.#recorded.values()) program.dispose();
    this.#recorded.clear();
  }

  #record(
    label: string,
    shape: {
      maxRows: number;
      maxOutputs: number;
      rowsOfInterest: 'last' | 'all';
      maxSoftTokens: number;
      isObserved?: boolean;
      /**
       * Selects kernels for prompts or for tokens, regardless of load, so that an answer never depends on what else
       * runs.
       */
      kernelsFor?: 'few-rows' | 'many-rows';
    },
  ): Program {
    const { device, decoder, precision, checkFinite, fusions, suppressed, hasHidden } = this.#settings;
    const { maxRows, maxOutputs, rowsOfInterest, maxSoftTokens, kernelsFor } = shape;
    const options = {
      ...{ label, maxRows, maxOutputs, precision, checkFinite },
      ...(kernelsFor && { kernelsFor }),
      ...(fusions !== undefined && { fusions }),
    };
    return this.#once(label, () =>
      device.record(options, (ops) => {
        const observe = (index: number, h: Value<'T', 'D'>) => {
          // The reference's last hidden state is the one after the final norm.
          const isLast = index === decoder.layers.length;
          const stream = isLast ? ops.rmsNorm(h, decoder.finalNorm, { eps: decoder.normEps }) : h;
          ops.output(hiddenOutput(index), stream);
        };
        const logits = recordDecoder(ops, decoder, {
          rowsOfInterest,
          maxSoftTokens,
          ...(shape.isObserved && { observe }),
          ...(hasHidden && kernelsFor && { observeOutputs: (h) => ops.output(HIDDEN_OUTPUT, h) }),
        });
        ops.output(LOGITS_OUTPUT, logits);
        ops.sample(logits, { suppressed });
      }),
    );
  }

  #once(label: string, record: (label: string) => Program): Program {
    const program = this.#recorded.get(label) ?? record(label);
    this.#recorded.set(label, program);
    return program;
  }
}

function powerOfTwo(atLeast: number): number {
  return 2 ** Math.ceil(Math.log2(atLeast));
}
