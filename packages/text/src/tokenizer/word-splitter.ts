import type { Vocabulary } from './vocabulary.js';

/** The Gemma family's character for a space: U+2581. */
const SPACE_MARK = 0x2581;

/**
 * Splits a long text where no token can span the split, so that each piece is encoded in small buffers with the same
 * result as the whole text. Such positions are before a run of `▁`, unless some token of the vocabulary contains the
 * preceding character followed by `▁` (Gemma has one: `>▁</`).
 */
export class WordSplitter {
  readonly #unitsJoinedToSpace: ReadonlySet<number>;
  readonly #isUsable: boolean;

  constructor(vocabulary: Vocabulary) {
    // Without a token for the mark, unknown characters on both sides of it would have to be fused.
    this.#isUsable = vocabulary.findText(String.fromCharCode(SPACE_MARK)) !== -1;
    this.#unitsJoinedToSpace = this.#isUsable ? unitsJoinedToSpace(vocabulary) : new Set();
  }

  /** The end of the piece that starts at `begin`. */
  endOfPiece(text: string, begin: number): number {
    if (!this.#isUsable) return text.length;
    for (let index = text.indexOf('▁', begin + 1); index !== -1; index = text.indexOf('▁', index + 1)) {
      const before = text.charCodeAt(index - 1);
      if (before !== SPACE_MARK && !this.#unitsJoinedToSpace.has(before)) return index;
    }
    return text.length;
  }
}

/** Last UTF-16 code units of the characters that precede `▁` inside a token. */
function unitsJoinedToSpace(vocabulary: Vocabulary): Set<number> {
  const units = new Set<number>();
  const { allBytes } = vocabulary;
  for (let id = 0; id < vocabulary.size; id++) {
    const begin = vocabulary.beginOf(id);
    if (!hasInnerMark(allBytes, begin, begin + vocabulary.byteLength(id))) continue;
    const text = vocabulary.textOf(id)!;
    for (let at = text.indexOf('▁', 1); at !== -1; at = text.indexOf('▁', at + 1)) {
      units.add(text.charCodeAt(at - 1));
    }
  }
  units.delete(SPACE_MARK);
  return units;
}

/** True if some `▁` follows another character. */
function hasInnerMark(bytes: Uint8Array, begin: number, end: number): boolean {
  for (let index = begin + 1; index + 2 < end; index++) {
    if (bytes[index] !== 0xe2 || !isMarkAt(bytes, index)) continue;
    if (index < begin + 3 || !isMarkAt(bytes, index - 3)) return true;
  }
  return false;
}

function isMarkAt(bytes: Uint8Array, index: number): boolean {
  return bytes[index] === 0xe2 && bytes[index + 1] === 0x96 && bytes[index + 2] === 0x81;
}
