import { InvalidArgumentError } from '@markbase/core';
import type { SoftTokens } from '@markbase/metal-runtime';
import type { DecoderConfig } from '../model/config.js';

/** Token ids, and the media that the placeholders among them represent. */
export interface Prompt {
  /** Token ids, with a placeholder for each soft token. */
  readonly ids: ArrayLike<number>;
  /** Spans of placeholders in any order. They must cover all placeholders in `ids`. */
  readonly media?: readonly MediaSpan[];
  /** Name of the adapter that computes it; default: none. */
  readonly adapter?: string;
}

/** Soft tokens that replace the embeddings of `ids[begin] … ids[begin + rows - 1]`. */
export interface MediaSpan {
  /** Index of the first placeholder. */
  readonly begin: number;
  /** The rows that replace the embeddings of the placeholders. */
  readonly softTokens: SoftTokens;
}

/**
 * Identifies what a position holds: a token id, or a row of some content. Equal keys at equal positions have equal
 * cache entries.
 */
export type PositionKey = number | string;

/** A prompt laid out by position. Arrays are indexed by position - begin. */
export interface PromptRows {
  /**
   * 'exact': reuses only those rows of the caches that are bit for bit what computing them again would yield; 'none':
   * reuses nothing.
   */
  readonly reuse?: 'exact' | 'none';
  /** What keys and values depend on apart from the rows, such as an adapter: prompts share them if it is equal. */
  readonly salt?: string;
  /** Number of the adapter; 0 or absent = none. */
  readonly adapter?: number;
  /** Position of the first row in its sequence. */
  readonly begin: number;
  /** Position after the last row. */
  readonly end: number;
  /** Token ids by row. */
  readonly tokens: Int32Array;
  /** Ids for the per-layer embedding; placeholders use the pad token (docs/gemma4.md section 2.3). */
  readonly layerTokens: Int32Array;
  /** Last position that a row sees in sliding layers: the end of its image, or itself (docs/gemma4.md section 2.8). */
  readonly visibleEnd: Int32Array;
  /** What each position contains, to compare prompts with caches. */
  readonly keys: readonly PositionKey[];
  /** The soft token of each row; null for ordinary tokens. */
  readonly soft: readonly (Float32Array | null)[];
}

/** Limits that a prompt is checked against. */
export interface PromptLimits {
  /** Maximum number of rows in a step; an image whose rows see each other must fit. */
  readonly maxStepTokens: number;
}

/**
 * Lays out a prompt by position.
 *
 * @param begin position of the first token in its sequence
 * @throws InvalidArgumentError for ids outside the vocabulary, and if placeholders and media do not match
 */
export function promptRows(
  config: DecoderConfig,
  prompt: Prompt,
  limits: PromptLimits,
  begin = 0,
): PromptRows {
  const tokens = Int32Array.from(prompt.ids);
  checkIds(prompt.ids, config.vocabularySize);
  const keys: PositionKey[] = Array.from(tokens);
  const soft: (Float32Array | null)[] = new Array(tokens.length).fill(null);
  for (const span of prompt.media ?? []) placeMedia(config, span, tokens, keys, soft);
  const isPlaceholder = placeholderTest(config);
  for (const [index, id] of tokens.entries()) {
    if (isPlaceholder(id) && soft[index] === null) {
      throw new InvalidArgumentError({
        argument: 'prompt.media',
        expected: 'soft tokens for every placeholder',
        received: `none for the placeholder ${id} at ${index}`,
        hint: 'Repeat each placeholder once per soft token of its medium, and pass the soft tokens in media',
      });
    }
  }
  const visibleEnd = visibleEnds(config, tokens, begin, limits);
  const layerTokens = tokens.map((id, index) => (soft[index] ? config.padTokenId : id));
  return { begin, end: begin + tokens.length, tokens, layerTokens, visibleEnd, keys, soft };
}

function checkIds(ids: ArrayLike<number>, vocabularySize: number): void {
  if (ids.length === 0) {
    throw new InvalidArgumentError({ argument: 'prompt', expected: 'at least one token', received: [] });
  }
  for (let index = 0; index < ids.length; index++) {
    const id = ids[index]!;
    if (!Number.isInteger(id) || id < 0 || id >= vocabularySize) {
      throw new InvalidArgumentError({
        argument: `prompt.ids[${index}]`,
        expected: `a token id below ${vocabularySize}`,
        received: id,
      });
    }
  }
}

function placeMedia(
  config: DecoderConfig,
  { begin, softTokens }: MediaSpan,
  tokens: Int32Array,
  keys: PositionKey[],
  soft: (Float32Array | null)[],
): void {
  const { kind, rows, width, values, contentKey } = softTokens;
  const fail = (expected: string, received: unknown): never => {
    throw new InvalidArgumentError({ argument: `prompt.media at ${begin}`, expected, received });
  };
  if (width !== config.hiddenWidth) fail(`rows of width ${config.hiddenWidth}`, width);
  if (values.length !== rows * width) fail(`${rows * width} values`, values.length);
  if (!Number.isInteger(begin) || begin < 0 || begin + rows > tokens.length) {
    fail(`a span within the ${tokens.length} tokens of the prompt`, `${rows} rows at ${begin}`);
  }
  for (let row = 0; row < rows; row++) {
    const index = begin + row;
    if (tokens[index] !== config.placeholders[kind] || soft[index]) {
      fail(`${rows} placeholders for a medium of kind ${kind}`, `token ${tokens[index]} at ${index}`);
    }
    keys[index] = `${kind}:${contentKey}:${row}`;
    soft[index] = values.subarray(row * width, (row + 1) * width);
  }
}

/** Each maximal run of image or video placeholders sees itself up to its end; everything else is causal. */
function visibleEnds(
  config: DecoderConfig,
  tokens: Int32Array,
  begin: number,
  limits: PromptLimits,
): Int32Array {
  const ends = Int32Array.from(tokens, (_, index) => begin + index);
  if (!config.isBidirectionalInImages) return ends;
  const { image, video } = config.placeholders;
  let runEnd = -1;
  for (let index = tokens.length - 1; index >= 0; index--) {
    const id = tokens[index]!;
    if (id !== image && id !== video) {
      runEnd = -1;
      continue;
    }
    if (runEnd < 0) runEnd = index;
    if (runEnd - index >= limits.maxStepTokens) {
      throw new InvalidArgumentError({
        argument: 'prompt.media',
        expected: `at most ${limits.maxStepTokens} image or video placeholders in a row`,
        received: `a run of more than ${limits.maxStepTokens} placeholders`,
        hint: 'Load the model with a larger prefillChunk',
      });
    }
    ends[index] = begin + runEnd;
  }
  return ends;
}

function placeholderTest({ placeholders }: DecoderConfig): (id: number) => boolean {
  const { image, video, audio } = placeholders;
  return (id) => id === image || id === video || id === audio;
}

/** The largest length up to `length` that splits no image. */
export function endOfImages({ visibleEnd }: Pick<PromptRows, 'visibleEnd'>, length: number): number {
  let end = length;
  while (end > 0 && visibleEnd[end - 1]! >= length) end--;
  return end;
}
