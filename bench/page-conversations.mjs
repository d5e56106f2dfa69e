// Records how fast the page shows its list and a conversation when the browser holds many: by default 200 conversations of 50 turns.
// usage: node bench/page-conversations.mjs [--conversations 200] [--turns 50] [--rounds 5] [--json]
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { shown, spread } from './lib/statistics.mjs';

const { values: flags } = parseArgs({
  options: {
    conversations: { type: 'string', default: '200' },
    turns: { type: 'string', default: '50' },
    rounds: { type: 'string', default: '5' },
    json: { type: 'boolean', default: false },
  },
});
const playgroundFolder = new URL('../apps/playground/', import.meta.url);
const { resolve } = createRequire(new URL('package.json', playgroundFolder));
const { chromium } = (await import(pathToFileURL(resolve('playwright-core')).href)).default;
const cli = fileURLToPath(new URL('dist/cli.js', playgroundFolder));
const server = spawn(process.execPath, [cli, 'playground', '--port', '0', '--no-open'], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const times = { list: [], conversation: [] };
let browser;
try {
  const address = await new Promise((found, failed) => {
    server.stdout.setEncoding('utf8').on('data', (text) => {
      const [, url] = /^page: (\S+)$/m.exec(text) ?? [];
      if (url) found(url);
    });
    server.on('exit', (status) => failed(new Error(`the playground ended with ${status}`)));
  });
  browser = await chromium.launch({
    executablePath: process.env.MARKBASE_CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--headless'],
  });
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(address);
  await page.getByText('runs on this machine').waitFor();
  await page.evaluate(fill, [Number(flags.conversations), Number(flags.turns)]);
  for (let round = 0; round <= Number(flags.rounds); round += 1) {
    await page.goto('about:blank');
    await page.goto(address);
    await page
      .locator('.conversations li')
      .nth(Number(flags.conversations) - 1)
      .waitFor();
    // From the start of the navigation, with the time of loading the page itself.
    const list = await page.evaluate(() => performance.now());
    const conversation = await page.evaluate(open);
    // The first round warms up.
    if (round === 0) continue;
    times.list.push(list);
    times.conversation.push(conversation);
  }
} finally {
  await browser?.close();
  server.removeAllListeners('exit');
  server.kill('SIGKILL');
}
const result = { listMs: spread(times.list), conversationMs: spread(times.conversation) };
if (flags.json) console.log(JSON.stringify({ ...flags, ...result }));
else for (const [name, value] of Object.entries(result)) console.log(`${name} ${shown(value)}`);

/** Writes conversations into the page's database, in the page. */
async function fill([conversations, turns]) {
  const base = await new Promise((found, failed) => {
    const opening = indexedDB.open('markbase');
    opening.onsuccess = () => found(opening.result);
    opening.onerror = () => failed(opening.error);
  });
  const text = 'Paragraph of an answer with **bold** words, `code` and a list.\n\n* one\n* two\n\n'.repeat(4);
  for (let chat = 0; chat < conversations; chat += 1) {
    const stores = base.transaction(['chats', 'messages', 'texts'], 'readwrite');
    const id = `chat-${chat}`;
    const selected = {};
    let parentId = 'root';
    for (let turn = 0; turn < turns; turn += 1) {
      const common = { createdAt: 2 * turn };
      const [asked, answered] = [`q-${turn}`, `a-${turn}`];
      Object.assign(selected, { [parentId]: asked, [asked]: answered });
      const question = {
        ...common,
        role: 'user',
        id: asked,
        parentId,
        text: `Question ${turn}?`,
        attachments: [],
      };
      const rounds = [{ reasoning: '', text, toolUses: [] }];
      const rest = { rounds, status: 'done', error: null, statistics: null };
      const answer = { createdAt: 2 * turn + 1, role: 'assistant', id: answered, parentId: asked, ...rest };
      stores.objectStore('messages').put(question, [id, asked]);
      stores.objectStore('messages').put(answer, [id, answered]);
      parentId = answered;
    }
    const fields = {
      id,
      title: null,
      firstWords: `Conversation ${chat}`,
      systemPrompt: '',
      settings: {},
      selected,
    };
    stores.objectStore('chats').put({ ...fields, changedAt: chat, deletedAt: null }, id);
    stores.objectStore('texts').put(text.repeat(turns), id);
    await new Promise((done, failed) => {
      stores.oncomplete = done;
      stores.onerror = () => failed(stores.error);
    });
  }
  base.close();
}

/** Opens the last conversation of the list. @returns milliseconds until its last answer is drawn */
async function open() {
  const begin = performance.now();
  [...document.querySelectorAll('.conversations li a')].at(-1).click();
  while (document.querySelectorAll('.answer .markdown p').length < 1)
    await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return performance.now() - begin;
}
