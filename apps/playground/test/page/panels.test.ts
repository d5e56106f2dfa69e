import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { DEMO_MODEL } from '../run-markbase.js';
import { greedily, hasBrowser, lastAnswer, say, stagePage, textOf } from './open-page.js';

const MODEL_WITH_EXPERTS = `${DEMO_MODEL}-moe`;

describe.skipIf(!hasBrowser)('the panels', () => {
  const stage = stagePage();

  it('report whether a model fits, load it, and report what is wrong with another', async () => {
    const page = await stage.open();
    await page.getByRole('button', { name: /^Model: / }).click();
    const folder = page.getByLabel('Folder, or org/name on the hub');
    await folder.fill('/no/such/folder');
    await page.getByRole('button', { name: 'Does it fit?' }).click();
    await page.locator('.panel .error').waitFor();
    expect(await textOf(page.locator('.panel .error'))).toContain('/no/such/folder');
    await folder.fill(MODEL_WITH_EXPERTS);
    await page.getByLabel('Context').selectOption('1024');
    await page.getByRole('button', { name: 'Does it fit?' }).click();
    await page.getByText('It fits.').waitFor();
    await page.getByRole('button', { name: 'Load', exact: true }).click();
    await page.getByRole('button', { name: 'Model: demo-model-moe' }).waitFor();
    expect(await textOf(page.locator('.facts').first())).toContain('1,024 tokens, 4 answers at once');
    await page.getByRole('button', { name: 'Close Model' }).click();
    await greedily(page);
    await say(page, 'What is 31 + 90?');
    expect(await lastAnswer(page)).toContain('121');
  });

  it('offer the models of this machine, say which cannot chat, and free the model without losing the conversation', async () => {
    const page = await stage.open();
    await greedily(page);
    await say(page, 'What is 85 - 12?');
    await lastAnswer(page);
    await page.getByRole('button', { name: /^Model: / }).click();
    const contexts = page.getByLabel('Context').locator('option');
    await page.locator('.models').getByRole('button', { name: 'demo-experts' }).first().click();
    await page.getByText('It fits.').waitFor();
    // No context longer than the model was trained for.
    expect((await contexts.allTextContents()).at(-1)).toBe('2,048 tokens');
    const folder = temporaryFolder();
    for (const name of ['config.json', 'model.safetensors', 'model.safetensors.index.json']) {
      await copyFile(join(MODEL_WITH_EXPERTS, name), join(folder, name));
    }
    await page.getByLabel('Folder, or org/name on the hub').fill(folder);
    await page.getByRole('button', { name: 'Does it fit?' }).click();
    await page.getByText('It cannot chat.').waitFor();
    expect(await page.getByRole('button', { name: 'Load', exact: true }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Unload' }).click();
    await page.getByRole('button', { name: 'No model' }).waitFor();
    expect(await page.locator('.message').count()).toBe(2);
    await page
      .locator('.models')
      .getByRole('button', { name: /^demo / })
      .first()
      .click();
    await page.getByText('It fits.').waitFor();
    await page.getByRole('button', { name: 'Load', exact: true }).click();
    await page.getByRole('button', { name: 'Model: demo-model' }).waitFor();
    await page.getByRole('heading', { name: 'Recent' }).waitFor();
    expect(await lastAnswer(page)).toContain('73');
  });

  it('find checkpoints by browsing folders', async () => {
    const page = await stage.open();
    await page.getByRole('button', { name: /^Model: / }).click();
    await page.getByRole('button', { name: 'Browse folders' }).click();
    await page.locator('.folders .path').waitFor();
    const listing = await page.evaluate(
      async (path) => {
        const response = await fetch(`/playground/api/folders?path=${encodeURIComponent(path)}`);
        return (await response.json()) as { folders: unknown[] };
      },
      DEMO_MODEL.replace(/\/model$/, ''),
    );
    expect(listing.folders).toContainEqual({ name: 'model', path: DEMO_MODEL, isCheckpoint: true });
  });

  it('show speed, memory and the roofline', async () => {
    const page = await stage.open();
    // Recorded while the panel is closed.
    await say(page, 'Tell me a story about a fox and a lantern.');
    await lastAnswer(page);
    await page.getByRole('button', { name: 'Performance' }).click();
    await expect
      .poll(() => textOf(page.locator('.plot').first()), { timeout: 20_000 })
      .toMatch(/answers [\d.]*[1-9][\d.]* tok\/s/);
    await page.locator('.plot canvas').nth(3).waitFor();
    await page.locator('.panel tbody tr').first().waitFor();
    expect(await textOf(page.locator('.plot').nth(1))).toMatch(/process [\d.]+ [MG]B/);
    await page.getByRole('button', { name: 'Measure', exact: true }).click();
    const picture = page.getByRole('img', { name: /Roofline/ });
    await picture.waitFor();
    expect(await picture.getAttribute('aria-label')).toMatch(/decode: .* prefill 256: /s);
  });
});
