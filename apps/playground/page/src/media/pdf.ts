import type { PDFDocumentProxy } from 'pdfjs-dist';
import type { ImageAttachment, TextAttachment } from './attachment.js';

/** Pages of this width in pixels are legible to models, and cost no more than their budget. */
const PAGE_PIXELS = 1280;
/** Most pages that become pictures at once. */
const MOST_PICTURES = 16;

const files = new Map<string, File>();

/** True if the pages of an attachment can be turned into pictures, which needs the file. */
export function hasPages({ id }: { readonly id: string }): boolean {
  return files.has(id);
}

/**
 * Reads the text of a PDF, page by page.
 *
 * @throws TypeError if it cannot be read, is protected by a password, or has no text
 */
export async function readPdf(file: File): Promise<TextAttachment> {
  const document = await openPdf(file);
  try {
    const pages: string[] = [];
    for (let number = 1; number <= document.numPages; number++) {
      const { items } = await (await document.getPage(number)).getTextContent();
      const text = items.map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : '')).join('');
      pages.push(`[page ${number}]\n${text.trim()}`);
    }
    const id = crypto.randomUUID();
    files.set(id, file);
    return { kind: 'text', id, name: file.name, text: pages.join('\n\n'), pageCount: document.numPages };
  } finally {
    await document.loadingTask.destroy();
  }
}

/**
 * Draws the pages of a PDF, at most 16.
 *
 * @param budget maximum number of soft tokens for each page
 */
export async function pagePictures({ id, name }: TextAttachment, budget: number): Promise<ImageAttachment[]> {
  const document = await openPdf(files.get(id)!);
  try {
    const pictures: ImageAttachment[] = [];
    for (let number = 1; number <= Math.min(MOST_PICTURES, document.numPages); number++) {
      const page = await document.getPage(number);
      const viewport = page.getViewport({ scale: PAGE_PIXELS / page.getViewport({ scale: 1 }).width });
      const canvas = globalThis.document.createElement('canvas');
      canvas.width = Math.round(viewport.width);
      canvas.height = Math.round(viewport.height);
      await page.render({ canvas, viewport }).promise;
      pictures.push({
        kind: 'image',
        id: crypto.randomUUID(),
        name: `${name}, page ${number}`,
        url: canvas.toDataURL('image/png'),
        width: canvas.width,
        height: canvas.height,
        budget,
      });
    }
    return pictures;
  } finally {
    await document.loadingTask.destroy();
  }
}

async function openPdf(file: File): Promise<PDFDocumentProxy> {
  const [pdf, { default: PdfWorker }] = await Promise.all([
    import('pdfjs-dist/legacy/build/pdf.mjs'),
    import('pdfjs-dist/legacy/build/pdf.worker.min.mjs?worker'),
  ]);
  pdf.GlobalWorkerOptions.workerPort ??= new PdfWorker();
  const data = new Uint8Array(await file.arrayBuffer());
  try {
    return await pdf.getDocument({ data, useSystemFonts: true, useWasm: false }).promise;
  } catch (error) {
    const reason =
      error instanceof Error && error.name === 'PasswordException'
        ? 'It is protected by a password: save a copy without one.'
        : 'It may be damaged: open it elsewhere and save it again.';
    throw new TypeError(`${file.name} cannot be read as a PDF. ${reason}`);
  }
}
