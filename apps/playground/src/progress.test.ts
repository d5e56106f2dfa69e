import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { note, startUploadProgress } from './progress.js';

const CLEAR = '\r\x1b[K';
const { isTTY } = process.stderr;
const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
const written = () => write.mock.calls.map(([text]) => text);

beforeEach(() => {
  write.mockClear();
  process.stderr.isTTY = true;
});
afterEach(() => {
  process.stderr.isTTY = isTTY;
});

it('shows the progress of copying weights until it is complete', () => {
  const { update, finish } = startUploadProgress();
  update({ arrivedBytes: 3e6, totalBytes: 4e6 });
  note('looking at cat.png');
  update({ arrivedBytes: 4e6, totalBytes: 4e6 });
  finish();
  const line = 'copying weights to the GPU 75% (3.00 MB of 4.00 MB)';
  expect(written()).toEqual([`${CLEAR}${line}`, CLEAR, 'looking at cat.png\n', CLEAR]);
});

it('does not touch the line once something else is shown on it', () => {
  const { update, finish } = startUploadProgress();
  update({ arrivedBytes: 1, totalBytes: 2 });
  finish();
  write.mockClear();
  update({ arrivedBytes: 2, totalBytes: 2 });
  expect(written()).toEqual([]);
});

it('writes nothing without a terminal', () => {
  process.stderr.isTTY = false;
  const { update, finish } = startUploadProgress();
  update({ arrivedBytes: 1, totalBytes: 2 });
  note('looking at cat.png');
  finish();
  expect(written()).toEqual([]);
});
