import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { hasTerminals, inTerminal } from './run-in-terminal.js';
import { hasDemoModel } from './run-markbase.js';

const PROMPT = /> $/;
const UP = '\x1b[A';
const ENTER = '\r';
const paste = (text: string) => `\x1b[200~${text}\x1b[201~`;

it.skipIf(!hasDemoModel || !hasTerminals)(
  'takes a paste of three lines as one message, completes, and remembers messages for the next chat',
  async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'chat.json');
    await writeFile(file, '');
    const state = { XDG_STATE_HOME: folder };
    const args = ['run', 'demo', '--temperature', '0', '--max-tokens', '20'];
    const first = await inTerminal(
      args,
      [
        // Ctrl-C drops a line that has been begun.
        { after: PROMPT, press: 'half\x03' },
        { after: PROMPT, press: paste('What\nis\r\n31 + 90?\n') },
        { after: /31 \+ 90\?/, press: ENTER },
        { after: PROMPT, press: '/sa\t' },
        { after: /\/save/, press: ` ${folder}/cha\t` },
        { after: /\/chat\.json/, press: ENTER },
        { after: /saved to[\s\S]*> $/, press: `/exi${ENTER}` },
        { after: /Did you mean[\s\S]*\/exit\?[\s\S]*> $/, press: `/bye${ENTER}` },
      ],
      state,
    );
    expect({ status: first.status, text: first.text }).toMatchObject({ status: 0 });
    expect(first.text).toMatch(/context\s█?░+\s\d+%\sof\s2,048/);
    const { messages } = JSON.parse(await readFile(file, 'utf8'));
    expect(messages[0]).toEqual({ role: 'user', content: 'What\nis\n31 + 90?' });
    expect(messages).toHaveLength(2);

    const again = await inTerminal(
      ['chat', 'What is 97 - 54?', '--temperature', '0', '--max-tokens', '20'],
      [
        { after: /43[\s\S]*> $/, press: UP.repeat(4) },
        { after: /31 \+ 90\?$/, press: `\x15\x15\x15/quit${ENTER}` },
      ],
      state,
    );
    expect({ status: again.status, text: again.text }).toMatchObject({ status: 0 });
    expect(again.text).toMatch(/> What is 97 - 54\?[\s\S]*43/);
    expect(again.text).toMatch(/> What\n(> )?is\n31 \+ 90\?/);
  },
);

it.skipIf(!hasDemoModel || !hasTerminals)('shows progress and plain text where NO_COLOR is set', async () => {
  const { status, raw } = await inTerminal(
    ['run', 'demo', 'What is 31 + 90?', '--temperature', '0', '--max-tokens', '20'],
    [],
    { NO_COLOR: '1' },
  );
  expect(status).toBe(0);
  expect(raw).toContain('loading ');
  expect(raw).toContain('31 + 90 = 121');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: styles are such sequences
  expect(raw).not.toMatch(/\x1b\[\d+m/);
});
