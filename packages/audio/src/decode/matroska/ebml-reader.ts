import { ByteQueue } from '../byte-queue.js';

/** An element of a Matroska file: either the head of one that contains others, or a whole one with its content. */
export interface EbmlElement {
  readonly id: number;
  /** Null for an element that contains others: they follow as elements of their own. */
  readonly content: Uint8Array | null;
}

/** Which elements are opened, which are read, and how large one may be. */
export interface EbmlSchema {
  readonly opened: ReadonlySet<number>;
  readonly read: ReadonlySet<number>;
  readonly maxBytes: number;
}

/**
 * Splits the bytes of a Matroska or WebM file into elements, in pieces of any size. Elements that are neither opened nor read are
 * skipped; sizes may be unknown, as recorders leave them.
 */
export class EbmlReader {
  readonly #schema: EbmlSchema;
  readonly #queue = new ByteQueue();
  #skipBytes = 0;
  /** End of the outermost open element; infinite if unknown, null before there is one. */
  #end: number | null = null;
  /** Id of an element that is larger than it may be; null if there was none. */
  tooLarge: number | null = null;
  /** True if the bytes are not elements. */
  isBroken = false;

  constructor(schema: EbmlSchema) {
    this.#schema = schema;
  }

  /** Bytes that are missing at the end of the file; 0 if its end is as stated or unknown. */
  get missingBytes(): number {
    const unfinished = this.#skipBytes > 0 || this.#queue.length > 0 ? Math.max(1, this.#skipBytes) : 0;
    if (this.#end === null || !Number.isFinite(this.#end)) return unfinished;
    return Math.max(unfinished, this.#end - this.#queue.position - this.#queue.length);
  }

  /** Elements that `bytes` complete; none after `tooLarge` or `isBroken`. */
  *push(bytes: Uint8Array): Generator<EbmlElement> {
    this.#queue.push(bytes);
    for (;;) {
      const skipped = Math.min(this.#skipBytes, this.#queue.length);
      this.#queue.skip(skipped);
      this.#skipBytes -= skipped;
      if (this.#skipBytes > 0) return;
      const element = this.#next();
      if (element === null) return;
      if (element !== 'skipped') yield element;
    }
  }

  #next(): EbmlElement | 'skipped' | null {
    const { opened, read, maxBytes } = this.#schema;
    const head = this.#queue.peek(12);
    const id = variableNumber(head, 0, true);
    const size = id && variableNumber(head, id.length, false);
    if (id === 'invalid' || size === 'invalid') {
      this.isBroken = true;
      return null;
    }
    if (id === null || size === null || size === undefined) return null;
    const headBytes = id.length + size.length;
    if (opened.has(id.value)) {
      this.#queue.skip(headBytes);
      this.#end ??= this.#queue.position + size.value;
      return { id: id.value, content: null };
    }
    if (!Number.isFinite(size.value)) {
      this.isBroken = true;
      return null;
    }
    if (!read.has(id.value)) {
      this.#skipBytes = headBytes + size.value;
      return 'skipped';
    }
    if (size.value > maxBytes) {
      this.tooLarge = id.value;
      return null;
    }
    if (this.#queue.length < headBytes + size.value) return null;
    const content = this.#queue.take(headBytes + size.value).slice(headBytes);
    return { id: id.value, content };
  }
}

/** A number whose first byte says its length: the position of its highest bit. */
export interface VariableNumber {
  readonly value: number;
  readonly length: number;
}

/**
 * Reads a number of variable length; all ones mean infinity.
 *
 * @param keepsMark true for ids, which include the bit that marks the length
 * @returns null if bytes are missing
 */
export function variableNumber(
  bytes: Uint8Array,
  at: number,
  keepsMark: boolean,
): VariableNumber | 'invalid' | null {
  const first = bytes[at];
  if (first === undefined) return null;
  const length = Math.clz32(first) - 23;
  if (length > (keepsMark ? 4 : 8)) return 'invalid';
  if (at + length > bytes.length) return null;
  let value = keepsMark ? first : first & (0xff >> length);
  let isAllOnes = value === 0xff >> length;
  for (let index = 1; index < length; index += 1) {
    value = value * 256 + bytes[at + index]!;
    isAllOnes &&= bytes[at + index] === 0xff;
  }
  return { value: isAllOnes && !keepsMark ? Number.POSITIVE_INFINITY : value, length };
}
