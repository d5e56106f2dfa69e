import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { RESAMPLE_MODULE, RESAMPLE_SOURCE_SHA256 } from './resample-module.js';
import { webAssembly } from './web-assembly.js';

describe('the assembled module', () => {
  it('was assembled from the current resample.wat', () => {
    const source = readFileSync(new URL('resample.wat', import.meta.url));
    expect(createHash('sha256').update(source).digest('hex')).toBe(RESAMPLE_SOURCE_SHA256);
  });

  it('is WebAssembly without imports', () => {
    const module = new webAssembly.Module(Buffer.from(RESAMPLE_MODULE, 'base64'));
    expect(webAssembly.Module.imports(module)).toEqual([]);
    expect(webAssembly.Module.exports(module).map(({ name }) => name)).toEqual(['memory', 'columns', 'rows']);
  });
});
