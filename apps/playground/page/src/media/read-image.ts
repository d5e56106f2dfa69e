import type { ImageAttachment } from './attachment.js';
import { toDataUrl } from './base64.js';

/** Larger pictures are scaled down before they are sent, because the model would not see more of them. */
const LONGEST_SIDE = 4096;
const KEPT_TYPES = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif']);

/**
 * Reads a picture. The browser converts formats that the server may not support to PNG.
 *
 * @param budget maximum number of soft tokens for the picture
 * @throws TypeError if the browser cannot read it
 */
export async function readImage(file: File, budget: number): Promise<ImageAttachment> {
  const bitmap = await createImageBitmap(file, { imageOrientation: 'from-image' }).catch(() => {
    throw new TypeError(`The browser cannot read ${file.name} as a picture. Use PNG, JPEG or WebP.`);
  });
  const scale = Math.min(1, LONGEST_SIDE / Math.max(bitmap.width, bitmap.height));
  const width = Math.max(1, Math.round(bitmap.width * scale));
  const height = Math.max(1, Math.round(bitmap.height * scale));
  const isKept = scale === 1 && KEPT_TYPES.has(file.type);
  const url = isKept ? await toDataUrl(file) : drawn(bitmap, width, height, 'image/png');
  bitmap.close();
  return { kind: 'image', id: crypto.randomUUID(), name: file.name, url, width, height, budget };
}

/** Draws a picture at the given size; returns a data: URL. */
export function drawn(source: CanvasImageSource, width: number, height: number, type: string): string {
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = height;
  canvas.getContext('2d')!.drawImage(source, 0, 0, width, height);
  return canvas.toDataURL(type, 0.9);
}
