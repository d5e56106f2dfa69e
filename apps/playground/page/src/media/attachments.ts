import { DEFAULT_IMAGE_TOKENS } from '@markbase/loader/browser';
import { signal } from '@preact/signals';
import { loadedModel } from '../model/model-state.js';
import type { Attachment } from './attachment.js';
import { readAudio } from './read-audio.js';
import { readImage } from './read-image.js';
import { readVideo } from './read-video.js';

/** Attachments of the next message. */
export const attachments = signal<readonly Attachment[]>([]);
/** Why a file could not be attached; null if there was no error. */
export const attachmentError = signal<string | null>(null);
/** Number of files being read. */
export const readingCount = signal(0);

const MOST_BYTES = 256 * 2 ** 20;

/** Attaches pictures, sounds and videos to the next message. */
export async function attachFiles(files: Iterable<File>): Promise<void> {
  attachmentError.value = null;
  for (const file of files) {
    await addAttachment(() => readFile(file));
    if (file.type.startsWith('video/')) await attachSoundOf(file);
  }
}

/** Attaches the sound of a video, too, if it has one and the model hears. */
async function attachSoundOf(video: File): Promise<void> {
  if (attachmentError.value !== null || !loadedModel.value?.media.audio) return;
  const sound = await readAudio(video, `Sound of ${video.name}`).catch(() => null);
  if (sound !== null) attachments.value = [...attachments.value, sound];
}

/** Attaches what `read` returns, or reports why it failed. */
export async function addAttachment(read: () => Promise<Attachment>): Promise<void> {
  readingCount.value += 1;
  try {
    const attachment = await read();
    attachments.value = [...attachments.value, attachment];
  } catch (error) {
    attachmentError.value = error instanceof Error ? error.message : String(error);
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
  attachments.value = attachments.value.map((attachment) =>
    attachment.id === id && attachment.kind === 'image' ? { ...attachment, budget } : attachment,
  );
}

function readFile(file: File): Promise<Attachment> {
  const kind = file.type.split('/')[0];
  const model = loadedModel.value;
  if (file.size > MOST_BYTES) throw new TypeError(`${file.name} is too large. Send files below 256 MB.`);
  if (kind === 'audio') {
    if (model && !model.media.audio) throw new TypeError(unable(model.id, 'sounds'));
    return readAudio(file, file.name);
  }
  if (kind !== 'image' && kind !== 'video') {
    throw new TypeError(`${file.name} is not a picture, sound or video. Attach one of these, or paste text.`);
  }
  if (model && !model.media.image) throw new TypeError(unable(model.id, 'pictures'));
  return kind === 'image'
    ? readImage(file, model?.media.image?.defaultBudget ?? DEFAULT_IMAGE_TOKENS)
    : readVideo(file, model?.contextTokens ?? null);
}

function unable(model: string, what: string): string {
  return `${model} does not support ${what}. Load another model in the Model panel.`;
}
