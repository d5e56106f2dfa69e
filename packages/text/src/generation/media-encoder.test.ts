import {
  ContextLengthError,
  CorruptFileError,
  InvalidArgumentError,
  UnsupportedMediaError,
} from '@markbase/core';
import type { SoftTokens } from '@markbase/metal-runtime';
import { describe, expect, it } from 'vitest';
import { encodeVideoParts, type MediaEncoder } from './media-encoder.js';

function soft(kind: SoftTokens['kind'], rows: number): SoftTokens {
  return { kind, rows, width: 1, values: new Float32Array(rows), contentKey: 'k' };
}

const frames = [0, 1].map((timestampSeconds) => ({ timestampSeconds, softTokens: soft('video', 30) }));
const bytes = Uint8Array.of(1);

/** An encoder of two frames of 30 tokens, and the room that sounds were given. */
function encoder(encodeAudio?: () => readonly SoftTokens[]) {
  const rooms: (number | undefined)[] = [];
  const made: MediaEncoder = {
    encodeVideo: async () => frames,
    ...(encodeAudio && {
      encodeAudio: async (_, { maxTokens }) => {
        rooms.push(maxTokens);
        return encodeAudio();
      },
    }),
  };
  return { made, rooms };
}

describe('encodeVideoParts', () => {
  it('gives frames and the pieces of the sound, which has half of the room that is left', async () => {
    const pieces = [soft('audio', 7), soft('audio', 3)];
    const { made, rooms } = encoder(() => pieces);
    expect(await encodeVideoParts(made, bytes, { maxTokens: 161 })).toEqual([
      { type: 'video', frames },
      { type: 'audio', softTokens: pieces[0] },
      { type: 'audio', softTokens: pieces[1] },
    ]);
    await encodeVideoParts(made, bytes, { maxTokens: 60 });
    await encodeVideoParts(made, bytes, {});
    expect(rooms).toEqual([50, 1, undefined]);
  });

  it('gives frames alone for a model that does not hear, and for a sound that is missing, damaged or too long', async () => {
    const failures = [
      new UnsupportedMediaError({ media: 'audio', source: 'bytes', reason: 'no sound' }),
      new CorruptFileError({ rule: 'wav', path: 'bytes', reason: 'truncated' }),
      new ContextLengthError({ promptTokens: 9, maxTokens: 8 }),
    ];
    expect(await encodeVideoParts(encoder().made, bytes, {})).toEqual([{ type: 'video', frames }]);
    for (const failure of failures) {
      const { made } = encoder(() => {
        throw failure;
      });
      expect(await encodeVideoParts(made, bytes, {})).toEqual([{ type: 'video', frames }]);
    }
  });

  it('reports every other error of the sound', async () => {
    const failure = new InvalidArgumentError({ argument: 'a', expected: 'b', received: 1 });
    const { made } = encoder(() => {
      throw failure;
    });
    await expect(encodeVideoParts(made, bytes, {})).rejects.toBe(failure);
  });
});
