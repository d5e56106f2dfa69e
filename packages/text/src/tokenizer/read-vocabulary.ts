import { hashBytes } from './byte-hash.js';
import type { EventLoopSlice } from './event-loop-slice.js';
import type { JsonScanner } from './json-scanner.js';
import { MergeTable } from './merge-table.js';
import { Vocabulary } from './vocabulary.js';

/** Maximum token id: sixteen times the largest known vocabulary. */
export const MAX_TOKEN_ID = 2 ** 22 - 1;

/** Maximum number of merge rules: ranks have 22 bits in the merge queue. */
const MAX_MERGES = 2 ** 22 - 1;

/** Number of entries read between two checks of the clock. */
const ENTRIES_PER_STEP = 1024;

const SPACE = 0x20;

/** Estimated bytes of the file per token and per merge rule, for the initial sizes of the tables. */
const BYTES_PER_TOKEN = 128;
const BYTES_PER_MERGE = 64;

/** Reads the object `{"token": id, …}` at the scanner's position. */
export async function readVocabulary(scanner: JsonScanner, slice: EventLoopSlice): Promise<Vocabulary> {
  const vocabulary = new Vocabulary(Math.ceil(scanner.sizeBytes / BYTES_PER_TOKEN));
  await readEntries(scanner, slice, '{', '}', () => {
    scanner.scanString();
    scanner.expect(':');
    const id = scanner.scanInteger(MAX_TOKEN_ID);
    const { stringSource, stringBegin, stringEnd, stringHash } = scanner;
    if (!vocabulary.add(id, stringSource, stringBegin, stringEnd, stringHash)) {
      scanner.fail(`the vocabulary has a duplicate token or id (id ${id})`);
    }
  });
  return vocabulary;
}

/** Reads the list of merge rules at the scanner's position: `["a", "b"]` or, in older files, `"a b"`. */
export async function readMerges(
  scanner: JsonScanner,
  vocabulary: Vocabulary,
  slice: EventLoopSlice,
): Promise<MergeTable> {
  const merges = new MergeTable(Math.ceil(scanner.sizeBytes / BYTES_PER_MERGE));
  let lastMerged = -1;
  await readEntries(scanner, slice, '[', ']', () => {
    if (merges.count === MAX_MERGES) scanner.fail(`more than ${MAX_MERGES} merge rules`);
    let left: number;
    let right: number;
    if (scanner.accept('[')) {
      left = scanToken(scanner, vocabulary);
      scanner.expect(',');
      right = scanToken(scanner, vocabulary);
      scanner.expect(']');
    } else {
      scanner.scanString();
      const { stringSource: source, stringBegin: begin, stringEnd: end } = scanner;
      const space = source.indexOf(SPACE, begin);
      const second = source.indexOf(SPACE, space + 1);
      const isPair = space !== -1 && space < end && (second === -1 || second >= end);
      if (!isPair) scanner.fail('expected a merge rule of two tokens separated by one space');
      left = vocabulary.find(source, begin, space, hashBytes(source, begin, space));
      right = vocabulary.find(source, space + 1, end, hashBytes(source, space + 1, end));
    }
    // Rules that produce the same token tend to be adjacent.
    const merged = left === -1 || right === -1 ? -1 : vocabulary.findJoined(left, right, lastMerged);
    // A rule whose result is not in the vocabulary never applies.
    if (merged === -1) {
      merges.skip();
      return;
    }
    merges.add(left, right, merged);
    lastMerged = merged;
  });
  return merges;
}

function scanToken(scanner: JsonScanner, vocabulary: Vocabulary): number {
  scanner.scanString();
  return vocabulary.find(scanner.stringSource, scanner.stringBegin, scanner.stringEnd, scanner.stringHash);
}

/** Reads a list or an object entry by entry, giving the event loop its turn in between. */
async function readEntries(
  scanner: JsonScanner,
  slice: EventLoopSlice,
  opening: string,
  closing: string,
  readEntry: () => void,
): Promise<void> {
  scanner.expect(opening);
  if (scanner.accept(closing)) return;
  for (let isOpen = true; isOpen; ) {
    for (let entry = 0; isOpen && entry < ENTRIES_PER_STEP; entry++) {
      readEntry();
      isOpen = scanner.accept(',');
    }
    if (slice.isOver) await slice.pause();
  }
  scanner.expect(closing);
}
