import { ConfigReader } from './config-reader.js';

/** How the makers of a checkpoint want it sampled. Absent fields: the file does not say. */
export interface GenerationConfig {
  /** Ids that end an answer, from generation_config.json and config.json together. */
  readonly stopTokenIds: readonly number[];
  /** Ids that must never be sampled. */
  readonly suppressTokenIds: readonly number[];
  /** 0 = greedy. */
  readonly temperature?: number;
  /** Sample from the n likeliest tokens. */
  readonly topK?: number;
  /** Sample from the likeliest tokens with this total probability. */
  readonly topP?: number;
}

/**
 * Parses generation_config.json.
 *
 * @param json the parsed file; null when the checkpoint has none
 * @param eosTokenIds what config.json says
 * @throws InvalidConfigError
 */
export function parseGenerationConfig(
  json: unknown,
  path: string,
  eosTokenIds: readonly number[],
): GenerationConfig {
  const reader = new ConfigReader(json ?? {}, path);
  const isGreedy = !reader.boolean('do_sample', true);
  const temperature = isGreedy
    ? 0
    : optional(reader, 'temperature', () => reader.number('temperature', { min: 0 }));
  const topK = optional(reader, 'top_k', () => reader.integer('top_k', { min: 0 }));
  const topP = optional(reader, 'top_p', () => reader.number('top_p', { min: 0, max: 1 }));
  return {
    stopTokenIds: [...new Set([...(reader.tokenIds('eos_token_id') ?? []), ...eosTokenIds])],
    suppressTokenIds: reader.tokenIds('suppress_tokens') ?? [],
    ...(temperature === undefined ? {} : { temperature }),
    ...(topK === undefined ? {} : { topK }),
    ...(topP === undefined ? {} : { topP }),
  };
}

function optional<T>(reader: ConfigReader, key: string, read: () => T): T | undefined {
  return reader.has(key) ? read() : undefined;
}
