import { existsSync } from 'node:fs';
import { type Browser, chromium, type Locator, type Page } from 'playwright-core';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { browserEnvironment } from '../../../../fixtures/browser-environment.js';
import { type RunningPlayground, startPlayground } from '../start-playground.js';

export const CHROMIUM = process.env.MARKBASE_CHROMIUM ?? '/usr/bin/chromium';

/** True if the page can be tested. */
export const hasBrowser = existsSync(CHROMIUM);

/** A playground with the demo model and a browser, shared by the tests of a file. */
export interface Stage {
  /** A new visitor's page. Violations of the page's own rules fail the test. */
  open(options?: VisitorOptions): Promise<Page>;
  readonly address: string;
}

/** Properties of the visitor's browser. */
export interface VisitorOptions {
  readonly width?: number;
  readonly height?: number;
  readonly isDark?: boolean;
  /** Of another playground than that of the stage, which may end while the page is open. */
  readonly otherAddress?: string;
}

/** Starts the playground and the browser before the tests of a file, and ends both after them. */
export function stagePage(): Stage {
  let playground: RunningPlayground | undefined;
  let browser: Browser;
  beforeAll(async () => {
    playground = await startPlayground();
    // Without a process sandbox, which containers do not allow; with simulated microphone and camera.
    const args = [
      '--no-sandbox',
      '--headless',
      '--use-fake-device-for-media-stream',
      '--use-fake-ui-for-media-stream',
    ];
    browser = await chromium.launch({ executablePath: CHROMIUM, args, env: browserEnvironment() });
  });
  afterAll(async () => {
    await browser?.close();
    await playground?.end();
  });
  return {
    get address() {
      return playground?.address ?? '';
    },
    async open({ width = 1280, height = 800, isDark = false, otherAddress } = {}) {
      const address = otherAddress ?? playground!.address;
      const expected = otherAddress === undefined ? /status of 400/ : /status of|ERR_/;
      const context = await browser.newContext({
        viewport: { width, height },
        colorScheme: isDark ? 'dark' : 'light',
        permissions: ['clipboard-read', 'clipboard-write', 'microphone'],
      });
      const page = await context.newPage();
      const faults: string[] = [];
      page.on('console', (message) => {
        // A refusal that a test provokes is not a fault of the page.
        if (message.type() === 'error' && !expected.test(message.text())) faults.push(message.text());
      });
      page.on('pageerror', (error) => faults.push(String(error)));
      page.on('request', (request) => {
        const isOwn = request.url().startsWith(`${address}/`) || /^(?:data|blob):/.test(request.url());
        if (!isOwn) faults.push(`asked ${request.url()}`);
      });
      onTestFinished(async () => {
        await context.close();
        if (faults.length > 0) throw new TypeError(`the page complained: ${faults.join('; ')}`);
      });
      page.setDefaultTimeout(30_000);
      await page.goto(address);
      await page.getByRole('button', { name: 'Send' }).waitFor();
      await page.getByText('runs on this machine').waitFor();
      return page;
    },
  };
}

/** Writes a message and sends it. */
export async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Your message').fill(text);
  await page.keyboard.press('Enter');
}

/** Waits until the last answer is complete. @returns its text */
export async function lastAnswer(page: Page): Promise<string> {
  const answer = page.locator('.answer').last();
  await answer.locator('.message-bar').waitFor();
  return textOf(answer.locator('.markdown').last());
}

/** The text of the element that a locator finds. */
export async function textOf(locator: Locator): Promise<string> {
  return ((await locator.textContent()) ?? '').trim();
}

/** Opens the settings, changes them, and closes them. */
export async function withSettings(page: Page, change: () => Promise<void>): Promise<void> {
  await page.getByRole('button', { name: 'Settings', exact: true }).click();
  await change();
  await page.getByRole('button', { name: 'Close Settings' }).click();
}

/** Always picks the likeliest token, so that answers can be compared. */
export function greedily(page: Page): Promise<void> {
  return withSettings(page, () => page.getByLabel('Temperature').fill('0'));
}
