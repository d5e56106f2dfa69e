import type { Device, Program, Value } from '@markbase/metal-runtime';
import { LOGITS_OUTPUT, recordDecoder } from '../model/decoder.js';
import type { Decoder } from '../model/layer.js';

/** Name of the output of `Programs.observed` that holds the stream after `index` layers. */
export function hiddenOutput(index: number): string {
  return `hidden.${index}`;
}

/** What all programs of a model have in common. */
export interface ProgramSettings {
  readonly device: Device;
  readonly decoder: Decoder;
  readonly precision: 'high' | 'fast';
  readonly checkFinite: boolean;
  readonly fusions?: false | { without: readonly string[] };
  /** Ids that are never chosen. */
  readonly suppressed: readonly number[];
  readonly maxSequences: number;
  /** Rows of a prefill step. */
  readonly prefillChunk: number;
}

/** The recorded programs of a model, each recorded when it is first needed. */
export class Programs {
  readonly #settings: ProgramSettings;
  readonly #recorded = new Map<string, Program>();

  constructor(settings: ProgramSettings) {
    this.#settings = settings;
  }

  /** Fills caches, and gives logits and a token for the last rows of prompts. */
  prefill(rows: number, hasSoftTokens: boolean): Program {
    const { prefillChunk, maxSequences } = this.#settings;
    const maxRows = rows <= prefillChunk ? prefillChunk : powerOfTwo(rows);
    return this.#record(`prefill ${maxRows}${hasSoftTokens ? ' with soft tokens' : ''}`, {
      maxRows,
      maxOutputs: Math.min(maxSequences, maxRows),
      rowsOfInterest: 'last',
      maxSoftTokens: hasSoftTokens ? maxRows : 0,
    });
  }

  /** One token of each of `width` sequences. */
  decode(width: number): Program {
    const maxRows = Math.min(powerOfTwo(width), this.#settings.maxSequences);
    return this.#record(`decode ${maxRows}`, {
      maxRows,
      maxOutputs: maxRows,
      rowsOfInterest: 'all',
      maxSoftTokens: 0,
    });
  }

  /** Every row is an output, and the stream after every layer can be read: for verification. */
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
    },
  ): Program {
    const known = this.#recorded.get(label);
    if (known) return known;
    const { device, decoder, precision, checkFinite, fusions, suppressed } = this.#settings;
    const { maxRows, maxOutputs, rowsOfInterest, maxSoftTokens } = shape;
    const program = device.record(
      { label, maxRows, maxOutputs, precision, checkFinite, ...(fusions !== undefined && { fusions }) },
      (ops) => {
        const observe = (index: number, h: Value<'T', 'D'>) => {
          // The reference's last hidden state is the one behind the final norm.
          const isLast = index === decoder.layers.length;
          const stream = isLast ? ops.rmsNorm(h, decoder.finalNorm, { eps: decoder.normEps }) : h;
          ops.output(hiddenOutput(index), stream);
        };
        const logits = recordDecoder(ops, decoder, {
          rowsOfInterest,
          maxSoftTokens,
          ...(shape.isObserved && { observe }),
        });
        ops.output(LOGITS_OUTPUT, logits);
        ops.sample(logits, { suppressed });
      },
    );
    this.#recorded.set(label, program);
    return program;
  }
}

function powerOfTwo(atLeast: number): number {
  return 2 ** Math.ceil(Math.log2(atLeast));
}
