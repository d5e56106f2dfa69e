import { describe, expect, it } from 'vitest';
import { isOpusPacket } from './opus-packet.js';

/** SILK, 20 ms; the last two bits give the packing of frames. */
const HEAD = 0x08;
const packet = (code: number, ...rest: number[]): Uint8Array => Uint8Array.of(HEAD | code, ...rest);
const bytes = (count: number): number[] => Array.from({ length: count }, () => 7);

describe('isOpusPacket', () => {
  it.each([
    ['one frame', packet(0, ...bytes(20))],
    ['one empty frame', packet(0)],
    ['two equal frames', packet(1, ...bytes(8))],
    ['two frames, the first of 2 bytes', packet(2, 2, ...bytes(9))],
    ['two frames, the first of 252 bytes', packet(2, 252, 0, ...bytes(252))],
    ['three equal frames', packet(3, 3, ...bytes(9))],
    ['three frames of 1, 2 and 4 bytes', packet(3, 0x83, 1, 2, ...bytes(7))],
    ['two frames with padding of 5', packet(3, 0x42, 5, ...bytes(4), ...bytes(5))],
  ])('takes %s', (_, made) => {
    expect(isOpusPacket(made)).toBe(true);
  });

  it.each([
    ['nothing', new Uint8Array(0)],
    ['two equal frames of 7 bytes', packet(1, ...bytes(7))],
    ['a first frame that is longer than the packet', packet(2, 9, ...bytes(8))],
    ['a length without its second byte', packet(2, 252)],
    ['a frame of more than 1275 bytes', packet(0, ...bytes(1276))],
    ['no frames', packet(3, 0)],
    ['no number of frames', packet(3)],
    ['more than 120 ms', packet(3, 7, ...bytes(7))],
    ['three equal frames of 8 bytes', packet(3, 3, ...bytes(8))],
    ['lengths that are longer than the packet', packet(3, 0x83, 5, 5, ...bytes(9))],
    ['padding that is longer than the packet', packet(3, 0x42, 255, 3, ...bytes(100))],
  ])('refuses %s', (_, made) => {
    expect(isOpusPacket(made)).toBe(false);
  });
});
