import type { TextAttachment } from './attachment.js';

/** Longer files are refused: no context is that long. */
const MOST_BYTES = 4 * 2 ** 20;

/**
 * Reads a file as text: code, CSV, JSON, Markdown, or anything else that is UTF-8 or UTF-16.
 *
 * @throws TypeError if it is not text, empty or too long
 */
export async function readText(file: File): Promise<TextAttachment> {
  if (file.size > MOST_BYTES) throw new TypeError(`${file.name} is too long. Attach text of at most 4 MB.`);
  const text = decoded(new Uint8Array(await file.arrayBuffer()));
  if (text === null) {
    throw new TypeError(
      `${file.name} is not a picture, sound, video, PDF or text. Attach one of these, or paste text.`,
    );
  }
  if (text.trim() === '') throw new TypeError(`${file.name} is empty. Attach a file with text in it.`);
  return textAttachment(file.name, text);
}

/** Text as an attachment. */
export function textAttachment(name: string, text: string): TextAttachment {
  return { kind: 'text', id: crypto.randomUUID(), name, text, pageCount: null };
}

function decoded(bytes: Uint8Array): string | null {
  const isWide = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  const encoding = isWide ? (bytes[0] === 0xff ? 'utf-16le' : 'utf-16be') : 'utf-8';
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
    return text.includes('\0') ? null : text;
  } catch {
    return null;
  }
}
