import { expect, it } from 'vitest';
import { progressLine } from './progress-line.js';

function draw(isTTY: boolean): { written: string[]; report: ReturnType<typeof progressLine> } {
  const written: string[] = [];
  const write = (text: string | Uint8Array) => {
    written.push(String(text));
    return true;
  };
  return { written, report: progressLine({ isTTY, columns: 60, write } as never) };
}

it('draws one line on a terminal, within its width, and clears it at the end', () => {
  const { written, report } = draw(true);
  report({ stage: 'download', doneBytes: 1.5e9, totalBytes: 3e9, file: 'model-00001-of-00002.safetensors' });
  report({ stage: 'download', doneBytes: 3e9, totalBytes: 3e9, file: '' });
  expect(written).toEqual([
    '\r\x1b[Kdownloading 50% (1.5 GB of 3.0 GB) model-00001-of-00002.saf',
    '\r\x1b[K',
  ]);
});

it('writes nothing if standard error is not a terminal', () => {
  const { written, report } = draw(false);
  report({ stage: 'upload', doneBytes: 1, totalBytes: 2, file: '' });
  expect(written).toEqual([]);
});
