import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { CONTROL_TEXTS } from '../src/tokenizer/control-tokens.js';
import { loadTokenizer, type Tokenizer } from '../src/tokenizer/index.js';

const WORDS = ['thought', 'model', 'user', 'system', '▁the', '▁weather', '▁Paris', '▁▁', '\n\n', 'call'];

/** A small tokenizer description of the Gemma family; `changes` replaces top-level parts. */
export function tokenizerJson(changes: Record<string, unknown> = {}): Record<string, unknown> {
  const vocab = new Map<string, number>();
  const add = (token: string): void => {
    if (!vocab.has(token)) vocab.set(token, vocab.size);
  };
  for (const token of CONTROL_TEXTS) add(token);
  for (let byte = 0; byte < 256; byte++) add(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);
  add('\n');
  add('▁');
  for (let code = 0x21; code < 0x7f; code++) add(String.fromCharCode(code));
  const merges: [string, string][] = [];
  for (const word of WORDS) {
    const characters = [...word];
    for (let length = 2; length <= characters.length; length++) {
      const left = characters.slice(0, length - 1).join('');
      const right = characters[length - 1]!;
      add(left + right);
      merges.push([left, right]);
    }
  }
  return {
    version: '1.0',
    added_tokens: CONTROL_TEXTS.map((content, id) => ({
      id,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    normalizer: { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
    pre_tokenizer: { type: 'Split', pattern: { String: ' ' }, behavior: 'MergedWithPrevious', invert: false },
    post_processor: null,
    decoder: {
      type: 'Sequence',
      decoders: [
        { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
        { type: 'ByteFallback' },
        { type: 'Fuse' },
      ],
    },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: '<unk>',
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: true,
      byte_fallback: true,
      ignore_merges: false,
      vocab: Object.fromEntries(vocab),
      merges,
    },
    ...changes,
  };
}

/** Writes a tokenizer.json into a new temporary folder and returns its path. */
export async function writeTokenizer(content: unknown): Promise<string> {
  const path = join(temporaryFolder(), 'tokenizer.json');
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

/** Loads the small tokenizer. */
export async function loadTestTokenizer(changes: Record<string, unknown> = {}): Promise<Tokenizer> {
  return loadTokenizer(await writeTokenizer(tokenizerJson(changes)));
}
