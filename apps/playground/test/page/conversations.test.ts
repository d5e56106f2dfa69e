import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { accessibilityFaults } from './accessibility.js';
import { greedily, hasBrowser, lastAnswer, say, stagePage, textOf } from './open-page.js';

/** A conversation of version 1, which had one for all tabs, with an answer that nobody receives any more. */
const OLD = {
  format: 'markbase-conversation',
  version: 1,
  systemPrompt: 'Be brief.',
  messages: {
    a: { role: 'user', parentId: 'root', text: 'An old question', attachments: [] },
    b: {
      role: 'assistant',
      parentId: 'a',
      rounds: [{ reasoning: '', text: 'An old answer', toolUses: [] }],
      status: 'streaming',
      error: null,
      statistics: null,
    },
  },
  selected: { root: 'a', a: 'b' },
};

const list = (page: Page) => page.getByRole('navigation', { name: 'Conversations' });

/** The titles in the list, from top to bottom. */
function titles(page: Page): Promise<string[]> {
  return list(page).locator('li a').allTextContents();
}

async function ask(page: Page, text: string): Promise<string> {
  await say(page, text);
  return lastAnswer(page);
}

async function act(page: Page, title: string, action: string): Promise<void> {
  await page.getByRole('button', { name: `Actions for ${title}` }).click();
  await page.locator('.conversation-menu').getByRole('button', { name: action }).click();
}

describe.skipIf(!hasBrowser)('conversations', () => {
  const stage = stagePage();

  it('are listed, found, renamed, deleted with undo, and never lost by a new chat or a reload', async () => {
    const page = await stage.open();
    await greedily(page);
    await ask(page, 'What is 31 + 90?');
    await page.keyboard.press('Alt+KeyN');
    await page.getByText('runs on this machine').waitFor();
    await ask(page, 'What is 85 - 12?');
    await expect.poll(() => titles(page)).toEqual(['What is 85 - 12?', 'What is 31 + 90?']);
    await list(page).getByRole('link', { name: 'What is 31 + 90?' }).click();
    await expect.poll(() => lastAnswer(page)).toContain('121');
    await page.getByLabel('Search conversations').fill('73');
    await expect.poll(() => titles(page)).toEqual(['What is 85 - 12?']);
    await page.getByLabel('Search conversations').fill('');
    await act(page, 'What is 31 + 90?', 'Rename');
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByLabel('Title').fill('Sums');
    await page.keyboard.press('Enter');
    await expect.poll(() => titles(page)).toContain('Sums');
    expect(await page.title()).toMatch(/^Sums/);
    await act(page, 'Sums', 'Delete');
    await expect.poll(() => titles(page)).toEqual(['What is 85 - 12?']);
    expect(await page.locator('.message').count()).toBe(0);
    await page.getByRole('button', { name: 'Undo' }).click();
    expect(await lastAnswer(page)).toContain('121');
    await page.reload();
    expect(await lastAnswer(page)).toContain('121');
    expect(await titles(page)).toHaveLength(2);
    const saved = async (action: string) => {
      const [download] = await Promise.all([page.waitForEvent('download'), act(page, 'Sums', action)]);
      return [download.suggestedFilename(), await readFile(await download.path(), 'utf8')] as const;
    };
    const [name, markdown] = await saved('Export as Markdown');
    expect(name).toBe('Sums.md');
    expect(markdown).toMatch(/^# Sums\n\n## You\n\nWhat is 31 \+ 90\?\n\n## Model\n\n.*121/);
    const [, json] = await saved('Export as JSON');
    expect(JSON.parse(json)).toMatchObject({ version: 2, conversations: [{ title: 'Sums' }] });
  });

  it('keep drafts over a reload, each its own', async () => {
    const page = await stage.open();
    const field = page.getByLabel('Your message');
    await ask(page, 'What is 31 + 90?');
    await field.fill('Half a thou');
    await page.keyboard.press('Alt+KeyN');
    await expect.poll(() => field.inputValue()).toBe('');
    await field.fill('Another beginning');
    await page.reload();
    await expect.poll(() => field.inputValue()).toBe('Another beginning');
    await list(page).getByRole('link').click();
    await expect.poll(() => field.inputValue()).toBe('Half a thou');
    await page.goBack();
    await expect.poll(() => field.inputValue()).toBe('Another beginning');
  });

  it('take over what version 1 stored', async () => {
    const page = await stage.open();
    await page.route('**/old.html', (route) => route.fulfill({ contentType: 'text/html', body: 'old' }));
    await page.goto(`${stage.address}/old.html`);
    await page.evaluate(async (text) => {
      const settled = <Value>(request: IDBRequest<Value>) =>
        new Promise<Value>((resolve, reject) => {
          request.onsuccess = () => resolve(request.result);
          request.onerror = () => reject(request.error);
        });
      await settled(indexedDB.deleteDatabase('markbase'));
      const opening = indexedDB.open('markbase', 1);
      opening.onupgradeneeded = () => opening.result.createObjectStore('conversations');
      const base = await settled(opening);
      await settled(
        base.transaction('conversations', 'readwrite').objectStore('conversations').put(text, 'current'),
      );
      base.close();
    }, JSON.stringify(OLD));
    await page.goto(stage.address);
    await list(page).getByRole('link', { name: 'An old question' }).click();
    expect(await lastAnswer(page)).toBe('An old answer');
    await page.getByText('Stopped.', { exact: true }).waitFor();
    await page.getByLabel('Search conversations').fill('old answer');
    await expect.poll(() => titles(page)).toEqual(['An old question']);
  });

  it('are in a drawer on a phone, which a choice or Escape closes', async () => {
    const page = await stage.open({ width: 360, height: 640 });
    await ask(page, 'What is 31 + 90?');
    await page.getByRole('button', { name: 'New chat' }).click();
    const button = page.getByRole('button', { name: 'Conversations' });
    const drawer = page.getByRole('dialog', { name: 'Conversations' });
    await button.click();
    await drawer.waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
    expect(await button.evaluate((element) => element === document.activeElement)).toBe(true);
    await button.click();
    await drawer.getByRole('link').click();
    await drawer.waitFor({ state: 'detached' });
    expect(await lastAnswer(page)).toContain('121');
  });

  it('in two tabs are seen by both, and one conversation in both becomes branches', async () => {
    const one = await stage.open();
    await greedily(one);
    const two = await one.context().newPage();
    await two.addInitScript(() => {
      const { addEventListener } = BroadcastChannel.prototype;
      BroadcastChannel.prototype.addEventListener = function (
        type: string,
        listener: (event: Event) => void,
      ) {
        addEventListener.call(this, type, (event: Event) => {
          if (!('isDeaf' in window)) listener(event);
        });
      };
    });
    await two.goto(stage.address);
    await ask(one, 'What is 31 + 90?');
    await list(two).getByRole('link', { name: 'What is 31 + 90?' }).click();
    await expect.poll(() => lastAnswer(two)).toContain('121');
    // Both continue from the same answer, because the second does not hear of the first.
    await two.evaluate(() => Object.assign(window, { isDeaf: true }));
    await ask(one, 'What is 85 - 12?');
    await ask(two, 'What is 97 - 54?');
    const last = async (page: Page) => textOf(page.locator('.question').last());
    await expect.poll(() => last(one)).toMatch(/^What is 85 - 12\?.*1 \/ 2/);
    await two.reload();
    await expect.poll(() => last(two)).toMatch(/^What is 97 - 54\?.*2 \/ 2/);
    await act(two, 'What is 31 + 90?', 'Delete');
    await expect.poll(() => titles(one)).toEqual([]);
  });
});
