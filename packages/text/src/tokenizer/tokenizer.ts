import { AddedTokenMatcher } from './added-token-matcher.js';
import { BytePairEncoder } from './byte-pair-encoder.js';
import { CONTROL_TEXTS } from './control-tokens.js';
import type { EventLoopSlice } from './event-loop-slice.js';
import {
  buildNormalizer,
  buildPreTokenizer,
  buildTokenTextRewriter,
  canShorten,
  type Normalizer,
  type PreTokenizer,
  type TokenTextRewriter,
} from './text-pipeline.js';
import { createTextDecoder } from './token-text-decoder.js';
import type { AddedToken, TokenizerFile } from './tokenizer-file.js';
import type { Vocabulary } from './vocabulary.js';
import { WordSplitter } from './word-splitter.js';

/** Number of UTF-16 code units encoded between two pauses. */
const STEP_UNITS = 1 << 14;
const BYTE_COUNT = 256;

/** A piece of a text that was split at control tokens: a control token, or ordinary text (`id` is null). */
export interface TextPiece {
  /** Id of the token; null for text between tokens. */
  readonly id: number | null;
  /** The text of the piece. */
  readonly text: string;
}

/** Converts text to token ids and back, as tokenizer.json describes. Created by `loadTokenizer`. */
export class Tokenizer {
  /** Highest token id + 1. */
  readonly vocabSize: number;
  readonly #vocabulary: Vocabulary;
  readonly #encoder: BytePairEncoder;
  readonly #words: WordSplitter;
  readonly #normalize: Normalizer;
  readonly #canShorten: boolean;
  readonly #preTokenize: PreTokenizer;
  readonly #rewrite: TokenTextRewriter;
  readonly #specialIds: ReadonlySet<number>;
  readonly #byteOfId: ReadonlyMap<number, number>;
  readonly #special: AddedTokenMatcher;
  readonly #added: readonly AddedToken[];
  readonly #ordinaryLiterals: Literals;
  #allLiterals: Literals | null = null;
  #longestTokenUnits: number | null = null;

  /** Takes ownership of the tables in `file`. */
  constructor(file: TokenizerFile) {
    const { vocabulary, path } = file;
    this.#normalize = buildNormalizer(file.normalizer, path);
    this.#canShorten = canShorten(file.normalizer, path);
    this.#preTokenize = buildPreTokenizer(file.preTokenizer, path);
    this.#rewrite = buildTokenTextRewriter(file.decoder, path);
    const added = withControlTokens(file.addedTokens, vocabulary);
    const special = added.filter((token) => token.isSpecial);
    this.#specialIds = new Set(special.map((token) => token.id));
    file.merges.forbid((merged) => this.#specialIds.has(merged));
    const byteIds = file.hasByteFallback ? findByteIds(vocabulary) : null;
    this.#byteOfId = new Map([...(byteIds ?? [])].map((id, byte) => [id, byte]));
    this.#encoder = new BytePairEncoder(vocabulary, file.merges, {
      byteIds,
      unknownId: file.unknownToken === null ? null : nullIfAbsent(vocabulary.findText(file.unknownToken)),
      isUnknownFused: file.isUnknownFused,
    });
    this.#words = new WordSplitter(vocabulary);
    this.#special = new AddedTokenMatcher(special);
    this.#added = added;
    this.#ordinaryLiterals = this.#literalsOf(added.filter((token) => !token.isSpecial));
    this.#vocabulary = vocabulary;
    this.vocabSize = vocabulary.size;
  }

  /**
   * Ids of a text. Nothing is added before or after it: `<bos>` is up to the caller or a chat template. Unpaired
   * surrogates count as U+FFFD.
   *
   * @param options.parseSpecial true: control tokens in the text get their ids. False (default, and right for all text
   *   that comes from users): they are ordinary text.
   */
  encode(text: string, options: { parseSpecial?: boolean } = {}): Int32Array {
    const ids: number[] = [];
    for (const _ of this.#encodeInSteps(text, options.parseSpecial ?? false, ids));
    return new Int32Array(ids);
  }

  /** Like `encode`, without blocking the event loop. @throws the reason of the slice's signal */
  async encodeInSlices(text: string, slice: EventLoopSlice): Promise<Int32Array> {
    const ids: number[] = [];
    for (const _ of this.#encodeInSteps(text, false, ids)) if (slice.isOver) await slice.pause();
    return new Int32Array(ids);
  }

  /** Maximum number of UTF-16 code units per token of text; null if there is no limit. */
  get longestTokenUnits(): number | null {
    this.#longestTokenUnits ??= this.#findLongestToken();
    return Number.isFinite(this.#longestTokenUnits) ? this.#longestTokenUnits : null;
  }

  /** Text of ids, equal to the concatenated output of a streaming decoder. Ids without a token are skipped. */
  decode(ids: Iterable<number>, options: { skipSpecial?: boolean } = {}): string {
    const decoder = createTextDecoder(this, options);
    let text = '';
    for (const id of ids) text += decoder.push(id);
    return text + decoder.flush();
  }

  /** Id of a token, spelled as in the vocabulary (`▁` for a space), or null. */
  idOf(token: string): number | null {
    return nullIfAbsent(this.#vocabulary.findText(token));
  }

  /** A token, spelled as in the vocabulary, or null if the id has none. */
  tokenText(id: number): string | null {
    return this.#vocabulary.textOf(id);
  }

  /** Displayed text of a token that is not a byte token: `▁` becomes a space. */
  decodedText(id: number): string {
    const text = this.#vocabulary.textOf(id);
    return text === null ? '' : this.#rewrite(text);
  }

  /** The byte that a byte token such as `<0xE2>` represents; null for all other tokens. */
  byteOf(id: number): number | null {
    return this.#byteOfId.get(id) ?? null;
  }

  /** True for control tokens. They are never text, and text never becomes one unless `parseSpecial` is set. */
  isSpecial(id: number): boolean {
    return this.#specialIds.has(id);
  }

  /** First characters of the texts of all control tokens. */
  get specialFirstCharacters(): string[] {
    return [...this.#special.firstUnits].map((unit) => String.fromCharCode(unit));
  }

  /** Splits a text at its control tokens. */
  splitSpecial(text: string): TextPiece[] {
    return [...pieces(this.#special, text)];
  }

  /** Appends the ids of a text, pausing every few milliseconds. */
  *#encodeInSteps(text: string, parseSpecial: boolean, ids: number[]): Generator<void, void, void> {
    // Prompts are split at control tokens before they are encoded, so few programs need all literals at once.
    if (parseSpecial) this.#allLiterals ??= this.#literalsOf(this.#added);
    const literals = (parseSpecial && this.#allLiterals) || this.#ordinaryLiterals;
    for (const { id: rawId, text: raw } of pieces(literals.raw, toWellFormed(text))) {
      if (rawId !== null) {
        ids.push(rawId);
        continue;
      }
      for (const { id, text: normalized } of pieces(literals.normalized, this.#normalize(raw))) {
        if (id !== null) ids.push(id);
        else for (const piece of this.#preTokenize(normalized)) yield* this.#encodePiece(piece, ids);
      }
    }
  }

  *#encodePiece(piece: string, ids: number[]): Generator<void, void, void> {
    let pausedAt = 0;
    for (let begin = 0, end = 0; begin < piece.length; begin = end) {
      end = this.#words.endOfPiece(piece, begin);
      if (end - begin > STEP_UNITS) yield* this.#encoder.encodeInSteps(piece, begin, end, ids);
      else this.#encoder.encode(piece, begin, end, ids);
      if (end - pausedAt < STEP_UNITS) continue;
      pausedAt = end;
      yield;
    }
  }

  #findLongestToken(): number {
    // A run of unknown characters of any length can be a single token.
    if (this.#byteOfId.size < BYTE_COUNT || this.#canShorten) return Number.POSITIVE_INFINITY;
    let longest = 1;
    for (let id = 0; id < this.#vocabulary.size; id++) {
      longest = Math.max(longest, this.#vocabulary.byteLength(id));
    }
    return longest;
  }

  #literalsOf(tokens: readonly AddedToken[]): Literals {
    const normalized = tokens.filter((token) => token.isNormalized);
    return {
      raw: new AddedTokenMatcher(tokens.filter((token) => !token.isNormalized)),
      normalized: new AddedTokenMatcher(
        normalized.map((token) => ({ id: token.id, text: this.#normalize(token.text) })),
      ),
    };
  }
}

interface Literals {
  /** Literals that are searched for in the original text. */
  readonly raw: AddedTokenMatcher;
  /** Literals that are searched for after normalisation. */
  readonly normalized: AddedTokenMatcher;
}

/** Adds missing added tokens to the vocabulary, and control tokens to the added ones. */
function withControlTokens(addedTokens: readonly AddedToken[], vocabulary: Vocabulary): AddedToken[] {
  const byText = new Map<string, AddedToken>();
  for (const token of addedTokens) {
    vocabulary.addText(token.id, token.text);
    byText.set(token.text, token);
  }
  for (const text of CONTROL_TEXTS) {
    const id = vocabulary.findText(text);
    if (id !== -1) byText.set(text, { id, text, isSpecial: true, isNormalized: false });
  }
  return [...byText.values()];
}

function findByteIds(vocabulary: Vocabulary): Int32Array {
  return Int32Array.from({ length: BYTE_COUNT }, (_, byte) =>
    vocabulary.findText(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`),
  );
}

function nullIfAbsent(id: number): number | null {
  return id === -1 ? null : id;
}

function* pieces(matcher: AddedTokenMatcher, text: string): Generator<TextPiece, void, void> {
  let begin = 0;
  for (let match = matcher.next(text, 0); match !== null; match = matcher.next(text, match.end)) {
    if (match.begin > begin) yield { id: null, text: text.slice(begin, match.begin) };
    yield { id: match.id, text: text.slice(match.begin, match.end) };
    begin = match.end;
  }
  if (begin < text.length) yield { id: null, text: text.slice(begin) };
}

/** Replaces unpaired surrogates with U+FFFD. The method exists in Node 20, but not in the ES2023 types. */
function toWellFormed(text: string): string {
  return (text as string & { toWellFormed(): string }).toWellFormed();
}
