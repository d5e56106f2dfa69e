import { InvalidArgumentError } from '@markbase/core';
import type { SoftTokens } from '@markbase/metal-runtime';
import { beforeAll, describe, expect, it } from 'vitest';
import { testChatTemplate } from '../../test/test-chat-template.js';
import { loadTestTokenizer } from '../../test/test-tokenizer.js';
import { type ChatMessage, encodeChat } from '../chat/index.js';
import type { Tokenizer } from '../tokenizer/index.js';
import { expandMedia } from './expand-media.js';

let tokenizer: Tokenizer;
beforeAll(async () => {
  tokenizer = await loadTestTokenizer();
});

function tokens() {
  const id = (text: string) => tokenizer.idOf(text);
  return {
    image: id('<|image|>'),
    audio: id('<|audio|>'),
    video: id('<|video|>'),
    beginImage: id('<|image>'),
    endImage: id('<image|>'),
    beginAudio: id('<|audio>'),
    endAudio: id('<audio|>'),
  };
}

function soft(kind: SoftTokens['kind'], rows: number): SoftTokens {
  return { kind, rows, width: 1, values: new Float32Array(rows), contentKey: 'k' };
}

function expand(content: ChatMessage['content']) {
  const messages: ChatMessage[] = [{ role: 'user', content }];
  const encoded = encodeChat(tokenizer, testChatTemplate('small'), messages);
  return expandMedia(encoded, messages, tokenizer, tokens());
}

describe('expandMedia', () => {
  it('writes one placeholder per soft token, between delimiters', () => {
    const image = soft('image', 3);
    const { ids, media } = expand([
      { type: 'image', softTokens: image },
      { type: 'text', text: 'what?' },
      { type: 'audio', softTokens: soft('audio', 2) },
    ]);
    expect(tokenizer.decode(Array.from(ids))).toContain(
      '<|image><|image|><|image|><|image|><image|>what?<|audio><|audio|><|audio|><audio|>',
    );
    expect(media).toHaveLength(2);
    expect(media![0]!.softTokens).toBe(image);
    for (const { begin, softTokens } of media!) {
      const run = Array.from(ids).slice(begin, begin + softTokens.rows);
      expect(run).toEqual(new Array(softTokens.rows).fill(tokens()[softTokens.kind]));
    }
  });

  it('writes a video as frames with their timestamps', () => {
    const frames = [0, 61.9].map((timestampSeconds) => ({ timestampSeconds, softTokens: soft('video', 2) }));
    const { ids, media } = expand([{ type: 'video', frames }]);
    expect(tokenizer.decode(Array.from(ids))).toContain(
      '00:00 <|image><|video|><|video|><image|> 01:01 <|image><|video|><|video|><image|>',
    );
    expect(media).toHaveLength(2);
  });

  it('refuses more media than the prompt has placeholders', () => {
    const messages: ChatMessage[] = [
      { role: 'user', content: [{ type: 'image', softTokens: soft('image', 1) }] },
    ];
    const encoded = encodeChat(tokenizer, testChatTemplate('small'), messages);
    expect(() => expandMedia(encoded, [...messages, ...messages], tokenizer, tokens())).toThrow(
      'media for the 1 placeholders that the chat template renders, received "2 media"',
    );
  });

  it.each([
    ['an image without soft tokens', { type: 'image' }],
    ['null instead of soft tokens', { type: 'image', softTokens: null }],
    ['soft tokens of another kind', { type: 'audio', softTokens: soft('image', 1) }],
    ['a video without frames', { type: 'video', frames: [] }],
  ] as const)('refuses %s', (_, part) => {
    expect(() => expand([part])).toThrow(InvalidArgumentError);
  });
});
