import { DEFAULT_IMAGE_TOKENS } from '@markbase/loader/browser';
import { signal } from '@preact/signals';
import { loadedModel } from '../model/model-state.js';
import type { Attachment, TextAttachment } from './attachment.js';
import { pagePictures, readPdf } from './pdf.js';
import { readAudio } from './read-audio.js';
import { readImage } from './read-image.js';
import { readText, textAttachment } from './read-text.js';
import { readVideo } from './read-video.js';

/** Attachments of the next message. */
export const attachments = signal<readonly Attachment[]>([]);
/** Why a file could not be attached; null if there was no error. */
export const attachmentError = signal<string | null>(null);
/** Number of files being read. */
export const readingCount = signal(0);

const MOST_BYTES = 256 * 2 ** 20;

/** Text of this length and more is pasted as a file. */
const LONG_PASTE = 4000;

/** Attaches files to the next message. */
export async function attachFiles(files: Iterable<File>): Promise<void> {
  const read = await readFiles(files);
  attachments.value = [...attachments.value, ...read];
}

/** Attaches a long text. @returns false if it is short */
export function attachPaste(text: string): boolean {
  if (text.length < LONG_PASTE) return false;
  attachments.value = [...attachments.value, textAttachment('Pasted text', text)];
  return true;
}

/** Reads files; those that cannot be read are reported, and left out. */
export async function readFiles(files: Iterable<File>): Promise<Attachment[]> {
  attachmentError.value = null;
  const read: Attachment[] = [];
  for (const file of files) {
    read.push(...(await reading(async () => [await readFile(file)])));
    if (kindOf(file) === 'video') read.push(...(await soundOf(file)));
  }
  return read;
}

/** Replaces the text of a PDF by pictures of its pages. */
export async function showPages(pdf: TextAttachment): Promise<void> {
  attachmentError.value = null;
  const budget = loadedModel.value?.media.image?.defaultBudget ?? DEFAULT_IMAGE_TOKENS;
  const pictures = await reading(() => pagePictures(pdf, budget));
  if (pictures.length === 0) return;
  attachments.value = attachments.value.flatMap((one) => (one.id === pdf.id ? pictures : [one]));
}

/** The sound of a video, if it has one and the model hears. */
async function soundOf(video: File): Promise<Attachment[]> {
  if (attachmentError.value !== null || !loadedModel.value?.media.audio) return [];
  const sound = await readAudio(video, `Sound of ${video.name}`).catch(() => null);
  return sound === null ? [] : [sound];
}

/** Attaches what `read` returns, or reports why it failed. */
export async function addAttachment(read: () => Promise<Attachment>): Promise<void> {
  const added = await reading(async () => [await read()]);
  attachments.value = [...attachments.value, ...added];
}

async function reading<Read>(read: () => Promise<Read[]>): Promise<Read[]> {
  readingCount.value += 1;
  try {
    return await read();
  } catch (error) {
    attachmentError.value = error instanceof Error ? error.message : String(error);
    return [];
  } finally {
    readingCount.value -= 1;
  }
}

/** Removes an attachment. */
export function removeAttachment(id: string): void {
  attachments.value = attachments.value.filter((attachment) => attachment.id !== id);
}

/** Sets the maximum number of soft tokens for a picture. */
export function setBudget(id: string, budget: number): void {
  attachments.value = withBudget(attachments.value, id, budget);
}

/** Attachments with another maximum number of soft tokens for the picture `id`. */
export function withBudget(all: readonly Attachment[], id: string, budget: number): Attachment[] {
  return all.map((one) => (one.id === id && one.kind === 'image' ? { ...one, budget } : one));
}

/** The first part of the type. Systems take TypeScript for MPEG transport streams. */
function kindOf({ name, type }: File): string {
  return /\.[cm]?tsx?$/.test(name) ? 'text' : type.split('/')[0]!;
}

function readFile(file: File): Promise<Attachment> {
  const kind = kindOf(file);
  const model = loadedModel.value;
  if (file.size > MOST_BYTES) throw new TypeError(`${file.name} is too large. Send files below 256 MB.`);
  if (kind === 'audio') {
    if (model && !model.media.audio) throw new TypeError(unable(model.id, 'sounds'));
    return readAudio(file, file.name);
  }
  if (file.type === 'application/pdf') return readPdf(file);
  // Pictures made of text are pictures; anything else that is text is read as text, whatever its type says.
  if (kind !== 'image' && kind !== 'video') return readText(file);
  if (model && !model.media.image) throw new TypeError(unable(model.id, 'pictures'));
  return kind === 'image'
    ? readImage(file, model?.media.image?.defaultBudget ?? DEFAULT_IMAGE_TOKENS)
    : readVideo(file, model?.contextTokens ?? null);
}

function unable(model: string, what: string): string {
  return `${model} does not support ${what}. Load another model in the Model panel.`;
}
