// Compiles every kernel with Apple's own compiler: `node scripts/compile-kernels.mjs`, on a Mac with Xcode. The addon compiles kernels on
// first use; this finds errors beforehand.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { flatten } from './embed-kernels.mjs';
import { metalFiles } from './kernel-files.mjs';

/** Tensors need Metal 4, which is part of the macOS 26 SDK. */
const sdk = spawnSync('xcrun', ['-sdk', 'macosx', '--show-sdk-version'], { encoding: 'utf8' });
const hasTensors = Number.parseInt(sdk.stdout ?? '', 10) >= 26;
const folder = mkdtempSync(path.join(os.tmpdir(), 'markbase-kernels-'));
let failures = 0;
try {
  for (const file of metalFiles()) {
    const name = path.basename(file);
    const source = path.join(folder, name);
    const text = flatten(file);
    const needsTensors = text.includes('#include <metal_tensor>');
    if (needsTensors && !hasTensors) {
      console.log(`${name}: skipped, this SDK is older than that of macOS 26`);
      continue;
    }
    writeFileSync(source, text);
    const args = [
      '-sdk',
      'macosx',
      'metal',
      needsTensors ? '-std=metal4.0' : '-std=metal3.1',
      '-fno-fast-math',
      '-Wall',
      '-Wno-unknown-pragmas',
      '-c',
    ];
    const result = spawnSync('xcrun', [...args, source, '-o', `${source}.air`], { encoding: 'utf8' });
    if (result.status === 0) continue;
    failures += 1;
    console.error(`${name}:\n${result.stderr ?? result.error?.message}`);
  }
} finally {
  rmSync(folder, { recursive: true });
}
console.log(failures === 0 ? 'all kernels compile' : `${failures} kernel files do not compile`);
process.exitCode = failures === 0 ? 0 : 1;
