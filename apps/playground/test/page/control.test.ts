import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { accessibilityFaults } from './accessibility.js';
import { greedily, hasBrowser, lastAnswer, say, stagePage, textOf, withSettings } from './open-page.js';

const SCHEMA = JSON.stringify({
  type: 'object',
  properties: { sum: { type: 'integer' } },
  required: ['sum'],
  additionalProperties: false,
});

/** Opens a conversation whose turns fill most of the context of 2,048 tokens. */
async function openLongConversation(page: Page): Promise<void> {
  const text = 'The fox carries a lantern over the hill. '.repeat(65);
  const turns = ['root', 'b1', 'b2'].flatMap((parentId, index) => {
    const [question, answer] = [`a${index + 1}`, `b${index + 1}`];
    const rounds = [{ reasoning: '', text: 'Yes.', toolUses: [] }];
    return [
      [question, { role: 'user', parentId, text: `Turn ${index + 1}. ${text}`, attachments: [] }],
      [
        answer,
        { role: 'assistant', parentId: question, rounds, status: 'done', error: null, statistics: null },
      ],
    ] as const;
  });
  const selected = { root: 'a1', a1: 'b1', b1: 'a2', a2: 'b2', b2: 'a3', a3: 'b3' };
  const messages = Object.fromEntries(turns);
  const file = { format: 'markbase-conversation', version: 1, systemPrompt: '', messages, selected };
  await page.locator('#import-picker').setInputFiles({
    name: 'long.json',
    mimeType: 'application/json',
    buffer: Buffer.from(JSON.stringify(file)),
  });
  await page.locator('.question').nth(2).waitFor();
}

describe.skipIf(!hasBrowser)('control of the chat', () => {
  const stage = stagePage();

  it('continues a cut answer, edits it, and deletes it with undo', async () => {
    const page = await stage.open();
    await greedily(page);
    await withSettings(page, () => page.getByLabel(/Maximum answer length/).fill('3'));
    await say(page, 'What is 31 + 90?');
    expect(await lastAnswer(page)).not.toContain('121');
    await withSettings(page, () => page.getByLabel(/Maximum answer length/).fill(''));
    const answer = page.locator('.answer');
    await answer.getByRole('button', { name: 'Continue' }).click();
    expect(await lastAnswer(page)).toBe('31 + 90 = 121');
    await answer.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Edit the answer').fill('A lot.');
    await page.keyboard.press('Enter');
    await page.getByText('2 / 2').waitFor();
    expect(await lastAnswer(page)).toBe('A lot.');
    await answer.getByRole('button', { name: 'Delete' }).click();
    await expect.poll(() => lastAnswer(page)).toBe('31 + 90 = 121');
    await page.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(() => lastAnswer(page)).toBe('A lot.');
  });

  it('shows several answers side by side, and goes on from the chosen one', async () => {
    const page = await stage.open();
    await greedily(page);
    await say(page, 'What is 31 + 90?');
    await lastAnswer(page);
    await page.getByRole('button', { name: 'Compare' }).click();
    const answers = page.locator('.comparison .answer');
    await expect.poll(() => answers.locator('.message-bar').count()).toBe(2);
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Choose this answer' }).click();
    await page.getByRole('button', { name: 'Show only the chosen one' }).click();
    await page.getByText('1 / 2').waitFor();
    expect(await lastAnswer(page)).toContain('121');
  });

  it('constrains answers to a JSON schema, says whether it is one, and keeps presets and settings apart', async () => {
    const page = await stage.open();
    await greedily(page);
    await withSettings(page, async () => {
      await page.getByLabel('JSON schema of answers').fill('{"type":');
      await page.getByText('It is not JSON').waitFor();
      await page.getByLabel('JSON schema of answers').fill('{"type": "strin"}');
      await page.locator('#schema-state.error').waitFor();
      await page.getByLabel('JSON schema of answers').fill(SCHEMA);
      await page.getByText('The schema is valid').waitFor();
      await page.getByLabel('Name of a preset').fill('Sums');
      await page.getByRole('button', { name: 'Save as preset' }).click();
    });
    await say(page, 'What is 31 + 90?');
    expect(JSON.parse(await lastAnswer(page))).toEqual({ sum: expect.any(Number) });
    await page.getByRole('button', { name: 'New chat' }).click();
    await withSettings(page, () => page.getByRole('button', { name: 'Reset to defaults' }).click());
    await page.getByRole('navigation').getByRole('link').click();
    const schema = page.getByLabel('JSON schema of answers');
    await withSettings(page, async () => expect(await schema.inputValue()).toBe(SCHEMA));
    await page.getByRole('button', { name: 'New chat' }).click();
    await withSettings(page, async () => {
      expect(await schema.inputValue()).toBe('');
      await page.getByRole('combobox', { name: /^Preset/ }).selectOption('Sums');
      expect(await schema.inputValue()).toBe(SCHEMA);
    });
  });

  it('shows how full the context is, and leaves out or summarises the oldest turns on request', async () => {
    const page = await stage.open();
    await greedily(page);
    await openLongConversation(page);
    expect(await page.locator('.context-gauge meter').getAttribute('aria-label')).toMatch(/of 2,048 tokens/);
    await say(page, 'What is 31 + 90?');
    const choice = page.getByRole('group', { name: 'The context is full' });
    await choice.waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await choice.getByRole('button', { name: 'Leave out the oldest turns' }).click();
    await page.getByText('The model does not see what is above.').waitFor();
    await choice.waitFor({ state: 'detached' });
    expect(await lastAnswer(page)).not.toBe('');
    await page.getByRole('button', { name: 'Show it everything again' }).click();
    await withSettings(page, async () => {
      await page.getByLabel('When the context is full').selectOption('summarise');
    });
    await page.locator('.answer').last().getByRole('button', { name: 'Regenerate' }).click();
    await page.getByText('only a summary').waitFor();
    await lastAnswer(page);
    expect(await page.locator('.answer .error').count()).toBe(0);
    await page.locator('.context-mark summary').click();
    expect(await textOf(page.locator('.context-mark details p'))).not.toBe('');
  });
});
