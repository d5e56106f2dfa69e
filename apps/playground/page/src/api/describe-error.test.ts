import { expect, it } from 'vitest';
import { describeError } from './describe-error.js';
import { errorOf, RequestError } from './request-error.js';

it.each([
  [0, null, null, /is not responding. Check that `markbase playground` is still running/],
  [400, 'context_length_exceeded', null, /^No room. Choose below what to do/],
  [400, null, null, /^No room.$/],
  [401, null, null, /Enter it under Settings/],
  [403, null, null, /address printed by the server/],
  [404, null, null, /Load a model in the Model panel/],
  [413, null, null, /fewer or smaller files/],
  [429, null, '7', /Send again in 7 seconds/],
  [503, null, '1', /Send again in a second/],
  [503, null, null, /Send again in a moment/],
  [500, null, null, /^The server failed: No room. Send again/],
])('turns status %i, code %s into sentences', (status, code, retryAfter, expected) => {
  expect(describeError(new RequestError('No room', { status, code, retryAfter }))).toMatch(expected);
});

it('reports bugs in the page', () => {
  expect(describeError(new TypeError('x is undefined'))).toMatch(/has a bug: x is undefined. Reload/);
  expect(describeError('odd')).toMatch(/odd/);
});

it('extracts the message of the server from its response', () => {
  expect(errorOf('{"error": {"message": "No room", "code": "full"}}')).toEqual({
    message: 'No room',
    code: 'full',
  });
  expect(errorOf('{"error": {"message": "No room", "code": null}}')).toEqual({
    message: 'No room',
    code: null,
  });
  expect(errorOf('Bad gateway')).toEqual({ message: 'Bad gateway', code: null });
});
