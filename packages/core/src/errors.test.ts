import { describe, expect, it } from 'vitest';
import * as core from './index.js';

const CASES: readonly [core.MarkBaseError, string, Record<string, unknown>, string][] = [
  [
    new core.InvalidArgumentError({ argument: 'bits', expected: '4 or 8', received: 7, hint: 'Use 8' }),
    'INVALID_ARGUMENT',
    { argument: 'bits', expected: '4 or 8', received: '7' },
    'bits: expected 4 or 8, received 7. Use 8',
  ],
  [
    new core.ShapeMismatchError({
      operation: 'linear',
      argument: 'weight',
      expected: '[*, 2]',
      received: '[3, 4]',
    }),
    'SHAPE_MISMATCH',
    { operation: 'linear', argument: 'weight', expected: '[*, 2]', received: '[3, 4]' },
    'linear: weight is [3, 4], expected [*, 2]',
  ],
  [
    new core.CorruptFileError({ rule: 'InvalidHeader', path: '/a', reason: 'no brace', offsetBytes: 8 }),
    'CORRUPT_FILE',
    { rule: 'InvalidHeader', path: '/a', reason: 'no brace', offsetBytes: 8 },
    '/a: no brace (at byte 8) [InvalidHeader]',
  ],
  [
    new core.CorruptFileError({ rule: 'ShardMissing', path: '/a', reason: 'gone' }),
    'CORRUPT_FILE',
    { offsetBytes: null },
    '/a: gone [ShardMissing]',
  ],
  [
    new core.FileAccessError({ path: '/a', operation: 'write', reason: 'the disk is full' }),
    'FILE_ACCESS',
    { path: '/a', operation: 'write', reason: 'the disk is full' },
    'cannot write /a: the disk is full',
  ],
  [
    new core.UnsupportedMediaError({ media: 'audio', source: '/a.mid', reason: 'this is MIDI' }),
    'UNSUPPORTED_MEDIA',
    { media: 'audio', source: '/a.mid', reason: 'this is MIDI' },
    '/a.mid: unsupported audio: this is MIDI',
  ],
  [
    new core.UnsupportedModelError({ modelType: 'llama', reason: 'not Gemma 4' }),
    'UNSUPPORTED_MODEL',
    { modelType: 'llama', reason: 'not Gemma 4' },
    'unsupported model "llama": not Gemma 4',
  ],
  [
    new core.InvalidConfigError({ path: '/c', key: 'a.b', expected: 'a number', received: 'x' }),
    'INVALID_CONFIG',
    { path: '/c', key: 'a.b', expected: 'a number', received: '"x"' },
    '/c: a.b must be a number, but is "x"',
  ],
  [
    new core.WeightMapError({ missing: ['a'], unused: ['1', '2', '3', '4', '5', '6'] }),
    'WEIGHT_MAP',
    { missing: ['a'], mismatched: [], unused: ['1', '2', '3', '4', '5', '6'] },
    'the checkpoint does not match its config.json: missing: a; unused 6: 1, 2, 3, 4, 5, …',
  ],
  [
    new core.NativeAddonLoadError({ platform: 'linux-x64', attempts: ['a: no file'], hint: 'Build it' }),
    'NATIVE_ADDON_LOAD',
    { platform: 'linux-x64', attempts: ['a: no file'] },
    'no native addon for linux-x64. Tried:\n  - a: no file\nBuild it',
  ],
  [
    new core.DeviceUnavailableError({ device: 'metal', reason: 'this is Linux' }),
    'DEVICE_UNAVAILABLE',
    { device: 'metal', reason: 'this is Linux' },
    'device "metal" is not available: this is Linux',
  ],
  [
    new core.DeviceError({ kernel: 'rope', reason: 'timeout' }),
    'DEVICE',
    { kernel: 'rope', reason: 'timeout' },
    'device error in rope: timeout',
  ],
  [
    new core.NonFiniteError({ label: 'layer 3, rope' }),
    'NON_FINITE',
    { label: 'layer 3, rope' },
    'NaN or infinity in the output of layer 3, rope: the weights or the inputs are not finite',
  ],
  [
    new core.OutOfMemoryError({ requestedBytes: 12, label: 'cache' }),
    'OUT_OF_MEMORY',
    { requestedBytes: 12, label: 'cache' },
    'out of memory: cache needs 12 bytes',
  ],
  [
    new core.DisposedError({ resource: 'device', operation: 'read' }),
    'DISPOSED',
    { resource: 'device', operation: 'read' },
    'read: the device was disposed',
  ],
  [
    new core.ContextLengthError({ promptTokens: 9, maxTokens: 8 }),
    'CONTEXT_LENGTH',
    { promptTokens: 9, maxTokens: 8 },
    'the prompt has 9 tokens, but the context holds 8: shorten it, or load the model with a larger contextTokens',
  ],
  [
    new core.ContextLengthError({
      promptTokens: 9,
      maxTokens: 8,
      isLeast: true,
      subject: 'the sound of 0.4 s',
      room: '0.3 s of sound',
    }).changedBy('pass a larger --context'),
    'CONTEXT_LENGTH',
    { promptTokens: 9, maxTokens: 8 },
    'the sound of 0.4 s has at least 9 tokens, but there is room for 8 (0.3 s of sound): shorten it, or pass a larger --context',
  ],
  [
    new core.LimitExceededError({ subject: '/a.png', limit: 'maxPixels', maximum: 4, received: 9 }),
    'LIMIT_EXCEEDED',
    { subject: '/a.png', limit: 'maxPixels', maximum: 4, received: 9 },
    '/a.png: maxPixels is 4, but this is 9: make the input smaller, or raise the limit for input that you trust',
  ],
];

describe.each(CASES)('%s', (error, code, fields, message) => {
  it('has a code, a name, fields, and a message that contains them', () => {
    expect(error.code).toBe(code);
    expect(error.name).toBe(error.constructor.name);
    expect(error).toMatchObject(fields);
    expect(error.message).toBe(message);
  });
});

describe('received values', () => {
  const received = (value: unknown) =>
    new core.InvalidArgumentError({ argument: 'x', expected: 'y', received: value }).received;

  it('are shown, whatever their type', () => {
    expect(received(undefined)).toBe('nothing');
    expect(received(Number.NaN)).toBe('NaN');
    expect(received(10n)).toBe('10n');
    expect(received([1, 'a'])).toBe('[1,"a"]');
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    expect(received(circular)).toBe('[object Object]');
  });

  it('are truncated to a readable length', () => {
    expect(received('a'.repeat(1000))).toHaveLength(120);
  });
});

it('keeps the cause', () => {
  const cause = new Error('inner');
  expect(new core.FileAccessError({ path: 'a', operation: 'open', reason: 'b', cause }).cause).toBe(cause);
  expect('cause' in new core.DisposedError({ resource: 'a', operation: 'b' })).toBe(false);
});
