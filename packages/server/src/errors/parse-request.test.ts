import { describe, expect, it } from 'vitest';
import { chatRequest } from '../chat/chat-request.js';
import { parseRequest } from './parse-request.js';

const valid = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
const errorOf = (body: unknown) => {
  try {
    parseRequest(chatRequest, body);
    return null;
  } catch (error) {
    return error;
  }
};

describe('parseRequest', () => {
  it('accepts null for optional parameters', () => {
    expect(parseRequest(chatRequest, { ...valid, n: null, stop: null, tools: null })).toMatchObject(valid);
  });

  it.each<[unknown, string | null]>([
    [{ ...valid, modalties: ['text'] }, 'modalties'],
    [{ ...valid, audio: { voice: 'alloy' } }, 'audio'],
    [{ ...valid, temperature: 3 }, 'temperature'],
    [{ ...valid, temperature: '1' }, 'temperature'],
    [{ ...valid, n: 0 }, 'n'],
    [{ ...valid, store: true }, 'store'],
    [{ model: 'm' }, 'messages'],
    [{ ...valid, messages: [] }, 'messages'],
    [{ ...valid, messages: [{ role: 'robot', content: '' }] }, 'messages[0].role'],
    [
      { ...valid, messages: [{ role: 'user', content: [{ type: 'text', txt: '' }] }] },
      'messages[0].content[0].text',
    ],
    [{ ...valid, messages: [{ role: 'user', content: 'a', extra: 1 }] }, 'messages[0].extra'],
    [{ ...valid, response_format: { type: 'json_schema' } }, 'response_format.json_schema'],
    [{ ...valid, stream_options: { include_usag: true } }, 'stream_options.include_usag'],
    [{ ...valid, logit_bias: { x: 1 } }, 'logit_bias.x'],
    [[], null],
    [null, null],
    ['text', null],
  ])('refuses %j and names %s', (body, param) => {
    expect(errorOf(body)).toMatchObject({ status: 400, type: 'invalid_request_error', param });
  });
});
