import { describe, expect, it, vi } from 'vitest';
import { hasErrorCode, InvalidArgumentError, MarkBaseError } from './index.js';

describe('MarkBaseError.isInstance', () => {
  it('recognises its own errors and no others', () => {
    const error = new InvalidArgumentError({ argument: 'x', expected: 'a number', received: 'y' });
    expect(MarkBaseError.isInstance(error)).toBe(true);
    expect(error).toBeInstanceOf(Error);
    for (const other of [new Error('x'), { code: 'INVALID_ARGUMENT' }, null, undefined, 'text', 1]) {
      expect(MarkBaseError.isInstance(other)).toBe(false);
    }
  });

  it('recognises errors of another copy of the package', async () => {
    vi.resetModules();
    const copy = await import('./index.js');
    expect(copy.MarkBaseError).not.toBe(MarkBaseError);
    const error = new copy.DisposedError({ resource: 'program', operation: 'run' });
    expect(error).not.toBeInstanceOf(MarkBaseError);
    expect(MarkBaseError.isInstance(error)).toBe(true);
    expect(hasErrorCode(error, 'DISPOSED')).toBe(true);
  });
});

describe('hasErrorCode', () => {
  it('compares the code', () => {
    const error: unknown = new InvalidArgumentError({ argument: 'x', expected: 'y', received: 1 });
    expect(hasErrorCode(error, 'INVALID_ARGUMENT')).toBe(true);
    expect(hasErrorCode(error, 'DISPOSED')).toBe(false);
    expect(hasErrorCode(Object.assign(new Error('x'), { code: 'DISPOSED' }), 'DISPOSED')).toBe(false);
  });
});
