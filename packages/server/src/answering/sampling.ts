import type { GenerateOptions } from '@markbase/text';
import { badParameter } from '../errors/request-error.js';

/** The sampling parameters of a request, in OpenAI's spelling. */
export interface SamplingRequest {
  readonly temperature?: number | null;
  readonly top_p?: number | null;
  readonly top_k?: number | null;
  readonly min_p?: number | null;
  readonly repetition_penalty?: number | null;
  readonly presence_penalty?: number | null;
  readonly frequency_penalty?: number | null;
  readonly seed?: number | null;
  readonly stop?: string | readonly string[] | null;
  readonly logit_bias?: Readonly<Record<string, number>> | null;
}

/** The engine takes non-negative seeds, clients may send negative ones: seeds are reduced modulo this. */
const SEEDS = 2 ** 53;

/** The engine's options. Parameters that the request leaves out keep the checkpoint's recommended values. */
export function samplingOptions(request: SamplingRequest, vocabularySize: number): Partial<GenerateOptions> {
  const { seed, stop, logit_bias: bias } = request;
  return withoutNulls({
    temperature: request.temperature,
    topP: request.top_p,
    topK: request.top_k,
    minP: request.min_p,
    repetitionPenalty: request.repetition_penalty,
    presencePenalty: request.presence_penalty,
    frequencyPenalty: request.frequency_penalty,
    seed: typeof seed === 'number' ? ((seed % SEEDS) + SEEDS) % SEEDS : null,
    stop: typeof stop === 'string' ? [stop] : stop,
    logitBias: bias ? biasMap(bias, vocabularySize) : null,
  });
}

/** Drops fields that are null or undefined. */
export function withoutNulls<Value extends object>(
  value: Value,
): { [Key in keyof Value]?: NonNullable<Value[Key]> } {
  const entries = Object.entries(value).filter(([, item]) => item !== null && item !== undefined);
  return Object.fromEntries(entries) as { [Key in keyof Value]?: NonNullable<Value[Key]> };
}

function biasMap(
  bias: Readonly<Record<string, number>>,
  vocabularySize: number,
): ReadonlyMap<number, number> {
  const map = new Map<number, number>();
  for (const [id, value] of Object.entries(bias)) {
    if (Number(id) >= vocabularySize) {
      const message = `Invalid value for 'logit_bias.${id}': the vocabulary has ${vocabularySize} tokens`;
      throw badParameter(`logit_bias.${id}`, message, 'invalid_value');
    }
    map.set(Number(id), value);
  }
  return map;
}
