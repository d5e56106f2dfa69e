import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DEMO_MODEL } from '../run-markbase.js';
import { startPlayground } from '../start-playground.js';
import { greedily, hasBrowser, lastAnswer, say, stagePage, textOf, withSettings } from './open-page.js';

/** Pixels between the end of what is shown and the end of the conversation. */
function distance(page: Page): Promise<number> {
  return page
    .locator('main')
    .evaluate(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight);
}

describe.skipIf(!hasBrowser)('what went wrong before', () => {
  const stage = stagePage();

  it('scrolling follows the answer unless the reader goes away, and sending goes to the end', async () => {
    const page = await stage.open({ height: 420 });
    await greedily(page);
    await withSettings(page, () => page.getByLabel(/Offer the demo tools/).check());
    const latest = page.getByRole('button', { name: 'Latest' });
    for (const question of ['Calculate 1927 - 18.', 'Calculate 85 - 12.', 'Calculate 31 + 90.']) {
      await say(page, question);
      await lastAnswer(page);
      await expect.poll(() => distance(page)).toBeLessThan(2);
    }
    await page.locator('main').evaluate((main) => main.scrollTo(0, 0));
    await latest.waitFor();
    expect(await distance(page)).toBeGreaterThan(120);
    await latest.click();
    expect(await distance(page)).toBeLessThan(2);
    await page.locator('main').evaluate((main) => main.scrollTo(0, 0));
    await latest.waitFor();
    await say(page, 'Calculate 6 * 7.');
    await lastAnswer(page);
    await expect.poll(() => distance(page)).toBeLessThan(2);
  });

  it('a server that ends is reported, a new one is found with its model, and the answer goes on', async () => {
    const playground = await startPlayground();
    onTestFinished(async () => void (await playground.kill()));
    const page = await stage.open({ otherAddress: playground.address });
    await say(page, 'Tell me a story about a fox and a lantern.');
    await page.locator('.answer .markdown').waitFor();
    await playground.kill();
    await page.getByText('The server ended in the middle of the answer').waitFor();
    await page.getByText('The server is gone').waitFor();
    await page.getByLabel('Your message').fill('Not lost');
    await page.keyboard.press('Enter');
    expect(await page.getByLabel('Your message').inputValue()).toBe('Not lost');
    const port = new URL(playground.address).port;
    const folder = await mkdtemp(join(tmpdir(), 'markbase-page-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    await symlink(DEMO_MODEL, join(folder, 'another-name'));
    const next = await startPlayground(['--port', port, '--model', join(folder, 'another-name')]);
    onTestFinished(async () => void (await next.kill()));
    await page.getByText('The server is gone').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Model: another-name' }).waitFor();
    const before = await textOf(page.locator('.answer .markdown'));
    await page.locator('.answer').getByRole('button', { name: 'Continue' }).click();
    expect((await lastAnswer(page)).length).toBeGreaterThan(before.length);
    expect(await page.locator('.answer .error').count()).toBe(0);
  });

  it('a recording goes with the message, an error of a file goes with its chat, an invalid number is named', async () => {
    const page = await stage.open();
    const picker = page.locator('#file-picker');
    await picker.setInputFiles({ name: 'broken.png', mimeType: 'image/png', buffer: Buffer.from('x') });
    const error = page.getByText('The browser cannot read broken.png');
    await error.waitFor();
    await page.keyboard.press('Alt+KeyN');
    await error.waitFor({ state: 'detached' });
    await withSettings(page, async () => {
      await page.getByLabel('Temperature').fill('-1');
      await page.getByText('Use a number from 0 to 2.').waitFor();
      await page.getByLabel('Temperature').fill('0');
      expect(await page.locator('.panel .error').count()).toBe(0);
      await page.getByLabel(/Maximum answer length/).fill('8');
    });
    await page.getByRole('button', { name: 'Record' }).click();
    await page.getByRole('button', { name: /Stop recording, [1-9]/ }).waitFor();
    await say(page, 'What do you hear?');
    await page.locator('.question').getByRole('img', { name: 'Waveform of Recording' }).waitFor();
    await lastAnswer(page);
    expect(await page.locator('.composer .attachment').count()).toBe(0);
  });
});
