import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { completeLine } from './complete-line.js';

it('completes commands, their words, and files', async () => {
  expect(await completeLine('/s')).toEqual([['/system', '/set', '/stats', '/save'], '/s']);
  expect(await completeLine('/think o')).toEqual([['on', 'off'], 'o']);
  expect(await completeLine('/set temp')).toEqual([['temperature'], 'temp']);
  expect(await completeLine('hello /s')).toEqual([[], 'hello /s']);
  const folder = temporaryFolder();
  await mkdir(join(folder, 'my pictures'));
  await writeFile(join(folder, 'my.png'), '');
  await writeFile(join(folder, '.my'), '');
  const begun = `${folder}/my`;
  expect(await completeLine(`/image ${begun}`)).toEqual([
    [`${folder}/my pictures/`, `${folder}/my.png`],
    begun,
  ]);
  expect(await completeLine(`/think ${begun}`)).toEqual([[], begun]);
});
