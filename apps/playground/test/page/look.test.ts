import { describe, expect, it } from 'vitest';
import { accessibilityFaults } from './accessibility.js';
import { greedily, hasBrowser, lastAnswer, say, stagePage, textOf } from './open-page.js';
import { showAnswer } from './show-answer.js';

const MARKDOWN = [
  '# Title',
  'Some **bold** text, a [link](https://example.com/), `code`.',
  '```js\nif (true) alert("x") // no\n```',
  '<script>window.isBroken = true</script><img src=x onerror="window.isBroken = true">',
  '[bad](javascript:window.isBroken=true) ![far](https://example.com/a.png)',
  '| a | b |\n|---|---|\n| 1 | 2 |',
].join('\n\n');

describe.skipIf(!hasBrowser)('the look of the page', () => {
  const stage = stagePage();

  it('shows markdown, and never runs its content', async () => {
    const page = await stage.open();
    await showAnswer(page, MARKDOWN);
    const answer = page.locator('.answer');
    expect(await textOf(answer.locator('h1'))).toBe('Title');
    expect(await textOf(answer.locator('.hljs-keyword').first())).toBe('if');
    expect(await answer.locator('td').count()).toBe(2);
    expect(await answer.locator('script, img').count()).toBe(0);
    expect(
      await answer.locator('a').evaluateAll((links) => links.map((link) => link.getAttribute('href'))),
    ).toEqual(['https://example.com/', null, 'https://example.com/a.png']);
    expect(await page.evaluate(() => 'isBroken' in window)).toBe(false);
    await answer.locator('.code-copy').click();
    await answer.getByText('Copied').waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('if (true) alert("x") // no');
  });

  it.each([true, false])('passes the checks of axe, dark: %s', async (isDark) => {
    const page = await stage.open({ isDark });
    expect(await accessibilityFaults(page)).toEqual([]);
    await showAnswer(page, MARKDOWN);
    for (const panel of [/^Model: /, 'Settings', 'Performance']) {
      await page.getByRole('button', { name: panel }).first().click();
      await page.locator('.panel h2').waitFor();
      expect(await accessibilityFaults(page)).toEqual([]);
    }
  });

  it('follows the dark theme of the system, and keeps an explicit choice over a reload', async () => {
    const page = await stage.open({ isDark: true });
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await background();
    await page.getByLabel('More').click();
    await page.getByRole('button', { name: 'Toggle dark mode' }).click();
    const light = await background();
    expect(light).toBe('rgb(255, 255, 255)');
    expect(dark).not.toBe(light);
    await page.reload();
    expect(await background()).toBe(light);
  });

  it('fits a phone: nothing is wider than the screen, and panels cover the chat', async () => {
    const page = await stage.open({ width: 360, height: 640 });
    await showAnswer(page, `${MARKDOWN}\n\n${'x'.repeat(300)}`);
    const isTooWide = () => page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    expect(await isTooWide()).toBe(false);
    expect(await page.getByRole('button', { name: 'Send' }).isVisible()).toBe(true);
    for (const panel of [/^Model: /, 'Settings', 'Performance']) {
      await page.getByRole('button', { name: panel }).first().click();
      expect(await page.locator('.panel').boundingBox()).toMatchObject({ x: 0, width: 360 });
      expect(await isTooWide()).toBe(false);
      await page.keyboard.press('Escape');
      expect(await page.locator('.panel').count()).toBe(0);
    }
  });

  it('shows questions in bubbles as wide as their text, and the details of an answer on hover', async () => {
    const page = await stage.open();
    await greedily(page);
    await say(page, 'What is 31 + 90?');
    expect(await lastAnswer(page)).toContain('121');
    const column = (await page.locator('.column').boundingBox())!;
    const bubble = (await page.locator('.question-text').boundingBox())!;
    expect(bubble.width).toBeLessThan(column.width / 3);
    // Both end where the answer ends.
    const answer = (await page.locator('.answer').boundingBox())!;
    expect(bubble.x + bubble.width).toBeCloseTo(answer.x + answer.width, 0);
    const detail = page.locator('.cost').getByText('To the first token');
    expect(await detail.isVisible()).toBe(false);
    await page.locator('.cost').hover();
    expect(await detail.isVisible()).toBe(true);
    await page.locator('.model-button').hover();
    expect(await detail.isVisible()).toBe(false);
  });

  it('offers examples that suit the model, and closes the menu wherever it is left', async () => {
    const page = await stage.open();
    const menu = page.locator('.menu-body');
    const more = page.getByLabel('More');
    await more.click();
    await page.keyboard.press('Escape');
    expect(await menu.isVisible()).toBe(false);
    expect(await more.evaluate((element) => element === document.activeElement)).toBe(true);
    await more.click();
    await page.locator('.welcome h2').click();
    expect(await menu.isVisible()).toBe(false);
    const examples = await page.locator('.example strong').allTextContents();
    expect(examples).toEqual(['Story', 'Thought', 'Tools', 'Data', 'Picture', 'Sound']);
    await page.getByRole('button', { name: 'Calculate 1927 - 18.' }).click();
    await page.getByText('calculate(1927 - 18) → 1909').waitFor();
    expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1);
  });

  it('can be used with the keyboard alone', async () => {
    const page = await stage.open();
    await greedily(page);
    await page.locator('main').focus();
    await page.keyboard.press('/');
    await page.keyboard.type('What is 31 + 90?');
    await page.keyboard.press('Enter');
    expect(await lastAnswer(page)).toContain('121');
    await page.keyboard.press('ArrowUp');
    expect(await page.getByLabel('Edit your message').inputValue()).toBe('What is 31 + 90?');
    await page.keyboard.press('Escape');
    await page.locator('main').focus();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Alt+KeyN');
    await page.getByText('runs on this machine').waitFor();
    await say(page, 'What is 85 - 12?');
    expect(await lastAnswer(page)).toContain('73');
  });
});
