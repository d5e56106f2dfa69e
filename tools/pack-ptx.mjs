// Copies the CUDA kernels that were built here, as PTX, into the platform package that loads them: `node tools/pack-ptx.mjs [--strict]`.
// PTX is text for any NVIDIA GPU and is compressed by npm. Like the addon, it is not committed.
import { cpSync, existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { repositoryRoot } from './lib/process.mjs';

const runtime = path.join(repositoryRoot, 'packages/metal-runtime');
const built = path.join(runtime, 'build/ptx');
const target = path.join(runtime, 'npm/linux-x64/ptx');

rmSync(target, { recursive: true, force: true });
if (existsSync(path.join(built, 'kernels.json'))) {
  cpSync(built, target, { recursive: true });
  const files = readdirSync(target, { recursive: true, encoding: 'utf8' }).map((name) =>
    path.join(target, name),
  );
  const bytes = files.reduce((sum, file) => sum + (statSync(file).isFile() ? statSync(file).size : 0), 0);
  console.log(`npm/linux-x64/ptx: ${(bytes / 1e6).toFixed(2)} MB`);
} else {
  console.log(
    'npm/linux-x64 has no CUDA kernels: packages/metal-runtime/build/ptx was not built (pnpm build, with clang-19)',
  );
  if (process.argv.includes('--strict')) process.exitCode = 1;
}
