import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { encodeWav } from '../../page/src/media/wav.js';
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
  await page.dispatchEvent('.page', 'drop', { dataTransfer: transfer });
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
    await page.getByRole('button', { name: /Stop recording, [1-9]/ }).click();
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

  it('says what to do with any other file', async () => {
    const page = await stage.open();
    const picker = page.locator('#file-picker');
    await picker.setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('x') });
    await page.getByText('notes.txt is not a picture, sound or video').waitFor();
    await picker.setInputFiles({ name: 'broken.png', mimeType: 'image/png', buffer: Buffer.from('x') });
    await page.getByText('The browser cannot read broken.png as a picture').waitFor();
  });
});
