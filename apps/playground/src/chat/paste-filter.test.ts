import { expect, it } from 'vitest';
import { PASTE_KEY, PasteFilter } from './paste-filter.js';

async function filtered(pieces: readonly (string | Buffer)[]): Promise<{ keys: string; pasted: string[] }> {
  const filter = new PasteFilter(process.stdin);
  for (const piece of pieces) filter.write(piece);
  filter.end();
  let keys = '';
  for await (const chunk of filter) keys += chunk;
  return { keys, pasted: filter.pasted };
}

it('makes one key of a paste, however it arrives', async () => {
  const text = 'a\x1b[200~one\r\ntwo\tthree\x1b[31m\n\x1b[201~b\x1b[Ac';
  const expected = { keys: `a${PASTE_KEY}b\x1b[Ac`, pasted: ['one\ntwo    three[31m'] };
  expect(await filtered([text])).toEqual(expected);
  for (let at = 3; at < text.length; at++) {
    if (text[at - 1] === '\x1b' && text[at] === '[' && at < 4) continue;
    expect(await filtered([text.slice(0, at), text.slice(at)])).toEqual(expected);
  }
});

it('passes the escape key on at once, and joins cut characters', async () => {
  expect(await filtered(['\x1b', Buffer.from('ü').subarray(0, 1), Buffer.from('ü').subarray(1)])).toEqual({
    keys: '\x1bü',
    pasted: [],
  });
});
