import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { encodeWav } from '../../page/src/media/wav.js';
import { accessibilityFaults } from './accessibility.js';
import { hasBrowser, lastAnswer, say, stagePage, textOf, withSettings } from './open-page.js';

/** A picture drawn by the browser, as a file dropped on the page. */
async function dropPicture(page: Page, width: number, height: number): Promise<void> {
  const transfer = await page.evaluateHandle(
    async ([wide, high]) => {
      const canvas = document.createElement('canvas');
      canvas.width = wide!;
      canvas.height = high!;
      const context = canvas.getContext('2d')!;
      context.fillStyle = 'red';
      context.fillRect(0, 0, wide! / 2, high!);
      const blob = await new Promise<Blob | null>((resolve) => {
        canvas.toBlob(resolve, 'image/png');
      });
      const data = new DataTransfer();
      data.items.add(new File([blob!], 'half-red.png', { type: 'image/png' }));
      return data;
    },
    [width, height],
  );
  // Anywhere on the page, the list of conversations included.
  await page.dispatchEvent('.conversations', 'drop', { dataTransfer: transfer });
}

/** A moving square recorded by the browser, as a pasted file. */
async function pasteVideo(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const canvas = document.createElement('canvas');
    canvas.width = 160;
    canvas.height = 120;
    const context = canvas.getContext('2d')!;
    const recorder = new MediaRecorder(canvas.captureStream(25), { mimeType: 'video/webm' });
    const pieces: Blob[] = [];
    recorder.ondataavailable = ({ data }) => pieces.push(data);
    const stopped = new Promise((resolve) => {
      recorder.onstop = resolve;
    });
    recorder.start();
    for (let step = 0; step < 20; step++) {
      context.fillStyle = 'white';
      context.fillRect(0, 0, 160, 120);
      context.fillStyle = 'blue';
      context.fillRect(step * 6, 40, 40, 40);
      await new Promise((resolve) => {
        setTimeout(resolve, 40);
      });
    }
    recorder.stop();
    await stopped;
    const data = new DataTransfer();
    data.items.add(new File(pieces, 'square.webm', { type: 'video/webm' }));
    document
      .getElementById('draft')!
      .dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true }));
  });
}

/** A tone as a WAV file. */
function tone(seconds: number): Buffer {
  const samples = Float32Array.from({ length: 16_000 * seconds }, (_, index) => 0.5 * Math.sin(index / 5));
  return Buffer.from(encodeWav(samples));
}

/** A PDF with two pages of text. */
function twoPages(): Buffer {
  const object = (number: number, body: string) => `${number} 0 obj${body}endobj\n`;
  const page = (number: number, content: number) =>
    object(number, `<</Type/Page/Parent 2 0 R/Contents ${content} 0 R>>`);
  const content = (number: number, text: string) => {
    const drawing = `BT /F1 20 Tf 20 50 Td (${text}) Tj ET`;
    return object(number, `<</Length ${drawing.length}>>stream\n${drawing}\nendstream `);
  };
  const objects = [
    object(1, '<</Type/Catalog/Pages 2 0 R>>'),
    object(
      2,
      '<</Type/Pages/Kids[3 0 R 4 0 R]/Count 2/MediaBox[0 0 320 160]/Resources<</Font<</F1 7 0 R>>>>>>',
    ),
    page(3, 5),
    page(4, 6),
    content(5, 'The fox has a lantern.'),
    content(6, 'The lantern is red.'),
    object(7, '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>'),
  ];
  const header = '%PDF-1.4\n';
  const ends = objects.map((_, index) => header.length + objects.slice(0, index).join('').length);
  const entries = ends.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  const start = header.length + objects.join('').length;
  const table = `xref\n0 8\n0000000000 65535 f \n${entries}trailer<</Size 8/Root 1 0 R>>\nstartxref\n${start}\n%%EOF\n`;
  return Buffer.from(header + objects.join('') + table);
}

/** The content of answers does not matter here: a few words are enough. */
function briefly(page: Page): Promise<void> {
  return withSettings(page, () => page.getByLabel(/Maximum answer length/).fill('8'));
}

describe.skipIf(!hasBrowser)('media', () => {
  const stage = stagePage();

  it('counts the tokens of a picture before it is sent, depending on the budget, and answers about it', async () => {
    const page = await stage.open();
    await briefly(page);
    await dropPicture(page, 480, 240);
    const attachment = page.locator('.composer .attachment');
    await attachment.getByRole('img', { name: 'half-red.png' }).waitFor();
    // Blocks of 48 pixels, twice as many across as down: 11 by 5 of at most 70, 23 by 11 of at most 280, plus two
    // delimiters.
    await page.getByLabel('Budget of half-red.png').selectOption('280');
    expect(await textOf(attachment)).toContain('480 × 240, 255 tokens');
    await page.getByLabel('Budget of half-red.png').selectOption('70');
    expect(await textOf(attachment)).toContain('57 tokens');
    expect(await textOf(page.locator('#attachment-total'))).toContain('57 tokens of 2,048');
    await say(page, 'What is this?');
    expect(await lastAnswer(page)).not.toBe('');
    await page.locator('.question').getByRole('img', { name: 'half-red.png' }).waitFor();
    // The prompt is the picture and a little more.
    const promptTokens = Number(/Prompt(\d+) tokens/.exec(await textOf(page.locator('.cost')))?.[1]);
    expect(promptTokens).toBeGreaterThan(57);
    expect(promptTokens).toBeLessThan(57 + 30);
  });

  it('keeps the send button on the screen, however many files are attached', async () => {
    const page = await stage.open();
    for (let index = 0; index < 12; index++) await dropPicture(page, 480, 240);
    await page.locator('.composer .attachment').nth(11).waitFor();
    const send = (await page.getByRole('button', { name: 'Send' }).boundingBox())!;
    expect(send.y + send.height).toBeLessThan(800);
    const row = await page.locator('.attachment-row').evaluate((element) => ({
      height: element.clientHeight,
      scrolls: element.scrollWidth > element.clientWidth,
    }));
    expect(row.height).toBeLessThan(140);
    expect(row.scrolls).toBe(true);
  });

  it('shows a sound as a waveform, counts it, and answers about it', async () => {
    const page = await stage.open();
    await page
      .locator('#file-picker')
      .setInputFiles({ name: 'tone.wav', mimeType: 'audio/wav', buffer: tone(2) });
    await page.getByRole('img', { name: 'Waveform of tone.wav' }).waitFor();
    // 25 per second, plus two delimiters.
    expect(await textOf(page.locator('.composer .attachment'))).toContain('2.0 s, 52 tokens');
    await say(page, 'What do you hear?');
    await lastAnswer(page);
    expect(await page.locator('.answer .error').count()).toBe(0);
  });

  it('records from the microphone', async () => {
    const page = await stage.open();
    await page.getByRole('button', { name: 'Record' }).click();
    const stop = page.getByRole('button', { name: /Stop recording/ });
    await page.getByText(/^0:0[1-9]$/).waitFor();
    // The simulated microphone beeps.
    await expect
      .poll(() => page.getByLabel('Loudness').evaluate((meter) => (meter as HTMLMeterElement).value), {
        interval: 20,
      })
      .toBeGreaterThan(0.3);
    expect(await accessibilityFaults(page)).toEqual([]);
    await stop.click();
    await page.getByRole('img', { name: 'Waveform of Recording' }).waitFor();
    await page.getByRole('button', { name: 'Remove Recording' }).click();
    expect(await page.locator('.attachment').count()).toBe(0);
  });

  it('takes frames from a video, and answers about them', async () => {
    const page = await stage.open();
    await briefly(page);
    await pasteVideo(page);
    const attachment = page.locator('.composer .attachment');
    await attachment.locator('.frames img').first().waitFor();
    expect(await textOf(attachment)).toMatch(/160 × 120, \d+ frames?, \d+ tokens/);
    await say(page, 'What happens?');
    await lastAnswer(page);
    expect(await page.locator('.answer .error').count()).toBe(0);
  });

  it('attaches text, code and long pastes, and sends them as quoted text', async () => {
    const page = await stage.open();
    await briefly(page);
    await page.locator('#file-picker').setInputFiles([
      { name: 'sizes.csv', mimeType: 'text/csv', buffer: Buffer.from('name,size\nfox,3\n') },
      { name: 'main.ts', mimeType: 'video/mp2t', buffer: Buffer.from('const a = 1;\n') },
    ]);
    await page.getByText('2 lines').waitFor();
    await page.evaluate(() => {
      const paste = (text: string) => {
        const data = new DataTransfer();
        data.setData('text/plain', text);
        const event = new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true });
        document.querySelector('main')!.dispatchEvent(event);
        return event.defaultPrevented;
      };
      Object.assign(window, { pasted: [paste('short'), paste('word '.repeat(1000))] });
    });
    expect(await page.evaluate(() => (window as unknown as { pasted: boolean[] }).pasted)).toEqual([
      false,
      true,
    ]);
    expect(await textOf(page.locator('.composer .attachment').nth(2))).toContain('about 1,250 tokens');
    await page.getByRole('button', { name: 'Remove Pasted text' }).click();
    const [request] = await Promise.all([
      page.waitForRequest('**/v1/chat/completions'),
      say(page, 'What is in it?'),
    ]);
    expect((request.postDataJSON() as { messages: unknown[] }).messages[0]).toEqual({
      role: 'user',
      content: [
        { type: 'text', text: 'sizes.csv:\n```\nname,size\nfox,3\n```\n\n' },
        { type: 'text', text: 'main.ts:\n```\nconst a = 1;\n```\n\n' },
        { type: 'text', text: 'What is in it?' },
      ],
    });
    await lastAnswer(page);
    const question = page.locator('.question');
    await question.getByLabel('Text of sizes.csv').click();
    await question.getByText('fox,3').waitFor();
    // Another branch of the message, with one of the files and a new one.
    await page.getByRole('button', { name: 'Edit' }).first().click();
    await question.getByRole('button', { name: 'Remove main.ts' }).click();
    await page
      .locator('.edit-picker')
      .setInputFiles({ name: 'notes.md', mimeType: '', buffer: Buffer.from('# Notes') });
    await question.getByText('notes.md').waitFor();
    await question.getByRole('button', { name: 'Send as a new branch' }).click();
    await question.getByText('2 / 2').waitFor();
    await lastAnswer(page);
    expect(await question.locator('.attachment-name').allTextContents()).toEqual(['sizes.csv', 'notes.md']);
  });

  it('reads the text of a PDF, and turns its pages into pictures on request', async () => {
    const page = await stage.open();
    await page
      .locator('#file-picker')
      .setInputFiles({ name: 'fox.pdf', mimeType: 'application/pdf', buffer: twoPages() });
    const attachments = page.locator('.composer .attachment');
    await attachments.getByText('2 pages').waitFor();
    await page.getByLabel('Text of fox.pdf').click();
    await page.getByText('[page 2] The lantern is red.').waitFor();
    await page.getByRole('button', { name: 'Pages as pictures' }).click();
    await page.getByRole('img', { name: 'fox.pdf, page 2' }).waitFor();
    expect(await attachments.count()).toBe(2);
    expect(await textOf(attachments.first())).toContain('1280 × 640');
    const colours = await page.getByRole('img', { name: 'fox.pdf, page 1' }).evaluate((picture) => {
      const canvas = document.createElement('canvas');
      canvas.width = 1280;
      canvas.height = 640;
      const context = canvas.getContext('2d')!;
      context.drawImage(picture as HTMLImageElement, 0, 0);
      return new Set(new Uint32Array(context.getImageData(0, 0, 1280, 640).data.buffer)).size;
    });
    // White paper, black text and what is between them.
    expect(colours).toBeGreaterThan(2);
  });

  it('says what to do with any other file', async () => {
    const page = await stage.open();
    const picker = page.locator('#file-picker');
    const attach = (name: string, mimeType: string, content: string) =>
      picker.setInputFiles({ name, mimeType, buffer: Buffer.from(content) });
    await attach('data.bin', 'application/octet-stream', 'a\0b');
    await page.getByText('data.bin is not a picture, sound, video, PDF or text').waitFor();
    await attach('none.txt', 'text/plain', ' \n');
    await page.getByText('none.txt is empty').waitFor();
    await attach('broken.pdf', 'application/pdf', 'x');
    await page.getByText('broken.pdf cannot be read as a PDF').waitFor();
    await attach('broken.png', 'image/png', 'x');
    await page.getByText('The browser cannot read broken.png as a picture').waitFor();
  });
});
