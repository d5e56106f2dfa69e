// Assembles src/image/resample.wat into src/image/resample-module.ts. Run after a change of the former.
// usage: node scripts/build-resample.mjs [--wat2wasm PATH]
//   --wat2wasm  the assembler of WABT; without it, that of the npm package wabt 1.0.39 is fetched
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values: flags } = parseArgs({ options: { wat2wasm: { type: 'string' } } });
const folder = new URL('../src/image/', import.meta.url);
const source = readFileSync(new URL('resample.wat', folder));
const temporary = mkdtempSync(join(tmpdir(), 'markbase-wat-'));
try {
  const target = join(temporary, 'resample.wasm');
  const assembler = flags.wat2wasm ? [flags.wat2wasm] : ['npx', '-y', '-p', 'wabt@1.0.39', 'wat2wasm'];
  const [command, ...args] = assembler;
  execFileSync(command, [...args, fileURLToPath(new URL('resample.wat', folder)), '-o', target]);
  const base64 = readFileSync(target).toString('base64');
  const lines = base64.match(/.{1,100}/g).map((line) => `  '${line}',`);
  writeFileSync(
    new URL('resample-module.ts', folder),
    `// Assembled from resample.wat by scripts/build-resample.mjs: do not edit.

/** SHA-256 of the resample.wat that this was made from. */
export const RESAMPLE_SOURCE_SHA256 = '${createHash('sha256').update(source).digest('hex')}';

/** The WebAssembly module, in base64. */
export const RESAMPLE_MODULE = [
${lines.join('\n')}
].join('');
`,
  );
} finally {
  rmSync(temporary, { recursive: true, force: true });
}
