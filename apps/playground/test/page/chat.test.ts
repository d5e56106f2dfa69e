import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { greedily, hasBrowser, lastAnswer, say, stagePage, textOf, withSettings } from './open-page.js';

/** What the browser stored: the first question of the branch shown. */
function kept(page: Page): Promise<unknown> {
  return page.evaluate(async () => {
    const settled = <Value>(request: IDBRequest<Value>) =>
      new Promise<Value>((resolve) => {
        request.onsuccess = () => resolve(request.result);
      });
    const base = await settled(indexedDB.open('markbase'));
    const stores = base.transaction(['chats', 'messages']);
    const [chat] = await settled(stores.objectStore('chats').getAll());
    const message = await settled(stores.objectStore('messages').get([chat.id, chat.selected.root]));
    base.close();
    return message.text;
  });
}

describe.skipIf(!hasBrowser)('the chat', () => {
  const stage = stagePage();

  it('streams an answer, and shows its statistics', async () => {
    const page = await stage.open();
    await greedily(page);
    await page.evaluate(() => {
      const seen = new Set<string>();
      Object.assign(window, { seen });
      new MutationObserver(() => {
        const text = document.querySelector('.answer .markdown')?.textContent ?? '';
        if (text !== '') seen.add(text);
      }).observe(document.body, { subtree: true, childList: true, characterData: true });
    });
    await say(page, 'Tell me a story about a fox and a lantern.');
    const text = await lastAnswer(page);
    expect(text).toMatch(/fox/);
    const states = await page.evaluate(() => [...(window as unknown as { seen: Set<string> }).seen]);
    expect(states.length).toBeGreaterThan(2);
    expect(text.startsWith(states[0]!.trim().slice(0, 8))).toBe(true);
    expect(await textOf(page.locator('.cost'))).toMatch(
      /^\d+ tokens · (?:\d+ tok\/s · )?\d+\.\d\d s to first/,
    );
  });

  it('stops on request, keeps what has arrived, and continues from it', async () => {
    const page = await stage.open();
    await page.evaluate(() => {
      const observer = new MutationObserver(() => {
        const text = document.querySelector('.answer .markdown')?.textContent ?? '';
        const stop = document.querySelector<HTMLButtonElement>('button[aria-label=Stop]');
        if (text === '' || !stop) return;
        observer.disconnect();
        stop.click();
      });
      observer.observe(document.body, { subtree: true, childList: true, characterData: true });
    });
    await say(page, 'Tell me a story about a fox and a lantern.');
    await page.getByText('Stopped.', { exact: true }).waitFor();
    expect(await lastAnswer(page)).not.toBe('');
    await greedily(page);
    await say(page, 'What is 31 + 90?');
    expect(await lastAnswer(page)).toContain('121');
  });

  it('keeps versions of answers and questions as branches, also over a reload', async () => {
    const page = await stage.open();
    await greedily(page);
    await say(page, 'What is 31 + 90?');
    expect(await lastAnswer(page)).toContain('121');
    await page.getByRole('button', { name: 'Regenerate' }).click();
    await page.getByText('2 / 2').waitFor();
    expect(await lastAnswer(page)).toContain('121');
    await page.locator('.question').getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Edit your message').fill('What is 85 - 12?');
    await page.keyboard.press('Enter');
    await page.getByText('What is 85 - 12?').waitFor();
    expect(await lastAnswer(page)).toContain('73');
    await page.getByRole('button', { name: 'Previous version' }).click();
    expect(await lastAnswer(page)).toContain('121');
    expect(await page.getByText('2 / 2').count()).toBe(1);
    await expect.poll(() => kept(page)).toBe('What is 31 + 90?');
    await page.reload();
    expect(await lastAnswer(page)).toContain('121');
    await page.getByRole('button', { name: 'Next version' }).first().click();
    expect(await lastAnswer(page)).toContain('73');
  });

  it('runs the tools that the model calls, and shows arguments and results', async () => {
    const page = await stage.open();
    await greedily(page);
    await withSettings(page, () => page.getByLabel(/Offer the demo tools/).check());
    await say(page, 'Calculate 1927 - 18.');
    const tool = page.locator('.tool');
    await tool.getByText('calculate(1927 - 18) → 1909').waitFor();
    const result = tool.getByText('Result', { exact: true });
    expect(await result.isVisible()).toBe(false);
    await tool.locator('summary').click();
    expect(await result.isVisible()).toBe(true);
    expect(await lastAnswer(page)).toContain('1909');
  });

  it('folds thoughts', async () => {
    const page = await stage.open();
    await greedily(page);
    await withSettings(page, () => page.getByLabel('Think before answering').check());
    await say(page, 'Solve 57 + 62.');
    expect(await lastAnswer(page)).toContain('119');
    const thoughts = page.locator('.reasoning');
    expect(await thoughts.locator('.markdown').isVisible()).toBe(false);
    await thoughts.getByText(/^Thought for \d/).click();
    expect((await textOf(thoughts.locator('.markdown'))).length).toBeGreaterThan(3);
  });

  it('follows the system prompt and limits, and explains why an answer ended early', async () => {
    const page = await stage.open();
    await greedily(page);
    await withSettings(page, async () => {
      await page.getByLabel('System prompt').fill('Reply only with JSON.');
    });
    await say(page, 'What is 97 - 54?');
    expect(JSON.parse(await lastAnswer(page))).toEqual({ answer: 43 });
    await withSettings(page, () => page.getByLabel(/Maximum answer length/).fill('3'));
    await page.getByRole('button', { name: 'Regenerate' }).click();
    await page.getByText('reached its maximum length').waitFor();
  });

  it('exports a conversation, and opens it again', async () => {
    const page = await stage.open();
    await greedily(page);
    await say(page, 'What is 31 + 90?');
    await lastAnswer(page);
    await page.getByLabel('More').click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export conversation' }).click(),
    ]);
    const path = await download.path();
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ format: 'markbase-conversation' });
    await page.getByRole('button', { name: 'New chat' }).click();
    expect(await page.locator('.message').count()).toBe(0);
    await page
      .locator('#import-picker')
      .setInputFiles({ name: 'x.json', mimeType: 'application/json', buffer: Buffer.from('{}') });
    await page.getByText('x.json cannot be opened').waitFor();
    await page.locator('#import-picker').setInputFiles(path);
    expect(await lastAnswer(page)).toContain('121');
  });

  it('copies an answer', async () => {
    const page = await stage.open();
    await greedily(page);
    await say(page, 'What is 31 + 90?');
    const text = await lastAnswer(page);
    await page.locator('.answer').getByRole('button', { name: 'Copy' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(text);
  });
});
