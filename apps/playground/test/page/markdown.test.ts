import { describe, expect, it } from 'vitest';
import { hasBrowser, stagePage, textOf } from './open-page.js';
import { showAnswer } from './show-answer.js';

const TEXT = [
  '- [x] done\n- [ ] to do',
  'Inline \\(a^2\\) and $b_1$, for $5 or $6; `$x$` is code, \\(\\frac{\\) is not LaTeX.',
  '$$\n\\int_0^1 x \\, dx = \\frac{1}{2}\n$$',
  '| left | centre | right |\n|:-----|:------:|------:|\n| 1 | 2 | 3 |',
  '5. five',
  '```python\ndef f(): return 1\n```',
].join('\n\n');

describe.skipIf(!hasBrowser)('markdown', () => {
  const stage = stagePage();

  it('shows task lists, formulas, aligned tables and code in colours', async () => {
    const page = await stage.open();
    await showAnswer(page, TEXT);
    const answer = page.locator('.answer > .markdown');
    const boxes = await answer
      .locator('input')
      .evaluateAll((all) => (all as HTMLInputElement[]).map(({ type, checked }) => [type, checked]));
    expect(boxes).toEqual([
      ['checkbox', true],
      ['checkbox', false],
    ]);
    await answer.locator('.katex').nth(2).waitFor();
    expect(await answer.locator('annotation').allTextContents()).toEqual([
      'a^2',
      'b_1',
      String.raw`\int_0^1 x \, dx = \frac{1}{2}`,
    ]);
    expect(await textOf(answer.locator('p').first())).toContain(
      'for $5 or $6; $x$ is code, \\frac{ is not LaTeX.',
    );
    const aligned = await answer
      .locator('td')
      .evaluateAll((cells) => cells.map((cell) => getComputedStyle(cell).textAlign));
    expect(aligned.map((value) => value.replace('-webkit-', ''))).toEqual(['left', 'center', 'right']);
    expect(await answer.locator('ol').getAttribute('start')).toBe('5');
    expect(await textOf(answer.locator('.hljs-keyword').first())).toBe('def');
    // Formulas use the fonts that come with the page.
    const fonts = () =>
      page.evaluate(() =>
        [...document.fonts].filter(({ status }) => status === 'loaded').map(({ family }) => family),
      );
    await expect.poll(fonts).toContain('KaTeX_Math');
  });

  it('keeps what is selected while an answer grows, in earlier blocks and in the last one', async () => {
    const page = await stage.open();
    const story = 'Once upon a time there was a fox. ';
    let resolve = () => {};
    const isRead = new Promise<void>((done) => {
      resolve = done;
    });
    // A model that writes two paragraphs, and the rest of the second one when the test says so.
    await page.exposeFunction('isSelected', () => isRead);
    await page.evaluate((words) => {
      const piece = (content: string) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;
      const fetchOnce = window.fetch;
      window.fetch = async (input, init) => {
        if (!String(input).endsWith('/chat/completions')) return fetchOnce(input, init);
        const encoder = new TextEncoder();
        const body = new ReadableStream({
          async start(controller) {
            controller.enqueue(encoder.encode(piece(`${words}\n\n${words}`)));
            await (window as unknown as { isSelected(): Promise<void> }).isSelected();
            controller.enqueue(encoder.encode(`${piece(`${words}\n\n$a^2$`)}data: [DONE]\n\n`));
            controller.close();
          },
        });
        return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
      };
    }, story);
    await page.getByLabel('Your message').fill('Tell me a story.');
    await page.keyboard.press('Enter');
    const paragraphs = page.locator('.answer .markdown p');
    await paragraphs.nth(1).waitFor();
    await page.evaluate(() => {
      const [first, second] = document.querySelectorAll('.answer > .markdown p');
      getSelection()!.setBaseAndExtent(first!.firstChild!, 5, second!.firstChild!, 9);
    });
    resolve();
    await page.locator('.answer .katex').waitFor();
    expect(await textOf(paragraphs.nth(1))).toBe((story + story).trim());
    expect(await page.evaluate(() => String(getSelection()).replace(/\n+/g, '|'))).toBe(
      'upon a time there was a fox.|Once upon',
    );
  });
});
