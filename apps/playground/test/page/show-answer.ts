import type { Page } from 'playwright-core';

/** Puts an answer on the page without asking a model. */
export async function showAnswer(page: Page, text: string): Promise<void> {
  const message = { role: 'assistant', parentId: 'a', status: 'done', error: null, statistics: null };
  const file = {
    format: 'markbase-conversation',
    version: 1,
    systemPrompt: '',
    messages: {
      a: { role: 'user', parentId: 'root', text: 'Show me.', attachments: [] },
      b: { ...message, rounds: [{ reasoning: 'Hm.', text, toolUses: [] }] },
    },
    selected: { root: 'a', a: 'b' },
  };
  const buffer = Buffer.from(JSON.stringify(file));
  await page
    .locator('#import-picker')
    .setInputFiles({ name: 'x.json', mimeType: 'application/json', buffer });
  await page.locator('.question-text', { hasText: 'Show me.' }).waitFor();
}
