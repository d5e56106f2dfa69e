import { CorruptFileError } from '@markbase/core';
import type { EventLoopSlice } from './event-loop-slice.js';
import { type ByteSource, JsonScanner } from './json-scanner.js';
import type { MergeTable } from './merge-table.js';
import { MAX_TOKEN_ID, readMerges, readVocabulary } from './read-vocabulary.js';
import { UnsupportedTokenizerError } from './unsupported-tokenizer-error.js';
import type { Vocabulary } from './vocabulary.js';

/** Maximum number of added tokens; Gemma has about 6,400. */
const MAX_ADDED_TOKENS = 2 ** 16;

/** A literal text that is a token wherever it occurs. */
export interface AddedToken {
  readonly id: number;
  readonly text: string;
  /** True for control tokens. */
  readonly isSpecial: boolean;
  /** True if the text is searched for after normalisation. */
  readonly isNormalized: boolean;
}

/** The content of tokenizer.json. */
export interface TokenizerFile {
  readonly path: string;
  readonly vocabulary: Vocabulary;
  readonly merges: MergeTable;
  readonly addedTokens: readonly AddedToken[];
  readonly unknownToken: string | null;
  readonly isUnknownFused: boolean;
  readonly hasByteFallback: boolean;
  readonly normalizer: unknown;
  readonly preTokenizer: unknown;
  readonly decoder: unknown;
}

/**
 * Parses a tokenizer.json. The vocabulary and the merge rules are read from bytes directly into tables.
 *
 * Errors: CorruptFileError for invalid files; UnsupportedTokenizerError for other kinds of models.
 */
export async function parseTokenizerFile(
  source: ByteSource,
  path: string,
  slice: EventLoopSlice,
): Promise<TokenizerFile> {
  const scanner = new JsonScanner(source, path);
  const parts = new Map<string, unknown>();
  let model: ModelParts | null = null;
  for (const key of keysOf(scanner)) {
    if (key === 'model') model = await readModel(scanner, path, slice);
    else parts.set(key, scanner.readValue());
  }
  if (scanner.peek() !== -1) scanner.fail('expected the end of the file');
  if (model === null) throw corrupt(path, 'MissingModel', 'there is no "model"');
  const { options } = model;
  return {
    path,
    vocabulary: model.vocabulary,
    merges: model.merges,
    addedTokens: parseAddedTokens(parts.get('added_tokens') ?? [], path),
    unknownToken: typeof options.get('unk_token') === 'string' ? String(options.get('unk_token')) : null,
    isUnknownFused: options.get('fuse_unk') === true,
    hasByteFallback: options.get('byte_fallback') === true,
    normalizer: parts.get('normalizer') ?? null,
    preTokenizer: parts.get('pre_tokenizer') ?? null,
    decoder: parts.get('decoder') ?? null,
  };
}

interface ModelParts {
  readonly vocabulary: Vocabulary;
  readonly merges: MergeTable;
  readonly options: ReadonlyMap<string, unknown>;
}

async function readModel(scanner: JsonScanner, path: string, slice: EventLoopSlice): Promise<ModelParts> {
  const options = new Map<string, unknown>();
  let vocabulary: Vocabulary | null = null;
  let merges: MergeTable | null = null;
  let mergesAt = -1;
  for (const key of keysOf(scanner)) {
    if (key === 'vocab') {
      if (scanner.peek() === '['.charCodeAt(0)) throw unsupported(path, 'model.vocab', 'an object', 'a list');
      vocabulary = await readVocabulary(scanner, slice);
    } else if (key === 'merges' && vocabulary !== null) {
      merges = await readMerges(scanner, vocabulary, slice);
    } else if (key === 'merges') {
      scanner.peek();
      mergesAt = scanner.offset;
      scanner.skipValue();
    } else {
      options.set(key, scanner.readValue());
      if (key === 'type') checkModelType(options.get(key), path);
    }
  }
  if (vocabulary === null) throw corrupt(path, 'MissingVocabulary', 'the model has no "vocab"');
  if (merges === null && mergesAt !== -1) {
    const end = scanner.offset;
    scanner.offset = mergesAt;
    merges = await readMerges(scanner, vocabulary, slice);
    scanner.offset = end;
  }
  if (merges === null)
    throw unsupported(path, 'model', 'byte-pair encoding with "merges"', [...options.keys()]);
  checkModelOptions(options, path);
  return { vocabulary, merges, options };
}

/** Iterates over the keys of the object at the scanner's position; the caller reads each value. */
function* keysOf(scanner: JsonScanner): Generator<string> {
  scanner.expect('{');
  if (scanner.accept('}')) return;
  do {
    scanner.scanString();
    const key = scanner.stringText();
    scanner.expect(':');
    yield key;
  } while (scanner.accept(','));
  scanner.expect('}');
}

function checkModelType(type: unknown, path: string): void {
  if (type !== 'BPE') throw unsupported(path, 'model.type', 'BPE', type);
}

function checkModelOptions(options: ReadonlyMap<string, unknown>, path: string): void {
  const ineffective = new Map<string, readonly unknown[]>([
    ['dropout', [undefined, null, 0]],
    ['continuing_subword_prefix', [undefined, null, '']],
    ['end_of_word_suffix', [undefined, null, '']],
    ['ignore_merges', [undefined, null, false]],
  ]);
  for (const [key, accepted] of ineffective) {
    const value = options.get(key);
    if (!accepted.includes(value)) throw unsupported(path, `model.${key}`, 'null', value);
  }
}

function parseAddedTokens(list: unknown, path: string): AddedToken[] {
  if (!Array.isArray(list) || list.length > MAX_ADDED_TOKENS) {
    throw corrupt(
      path,
      'InvalidAddedTokens',
      `added_tokens is not a list of up to ${MAX_ADDED_TOKENS} tokens`,
    );
  }
  return list.map((entry: unknown) => {
    const { id, content, special, normalized, single_word, lstrip, rstrip } = Object(entry);
    const isId = Number.isInteger(id) && id >= 0 && id <= MAX_TOKEN_ID;
    if (!isId || typeof content !== 'string' || content === '') {
      throw corrupt(path, 'InvalidAddedTokens', 'an added token lacks a valid id or content');
    }
    if (single_word === true || lstrip === true || rstrip === true) {
      throw unsupported(path, 'added_tokens', 'tokens without single_word, lstrip and rstrip', entry);
    }
    const isSpecial = special === true;
    return { id, text: content, isSpecial, isNormalized: normalized ?? !isSpecial };
  });
}

function corrupt(path: string, rule: string, reason: string): CorruptFileError {
  return new CorruptFileError({ rule, path, reason });
}

function unsupported(path: string, component: string, expected: string, received: unknown): Error {
  return new UnsupportedTokenizerError({ path, component, expected, received });
}
