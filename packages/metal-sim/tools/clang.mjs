// The compiler that the simulator needs: its Objective-C, its vector types and its code generation.
import { spawnSync } from 'node:child_process';

export const CLANG = process.env.METAL_SIM_CLANG ?? 'clang++-19';

/** What is missing to build and run the simulator, with the command that installs it, or null. */
export function missingTools() {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    return `it runs on Linux x64, this is ${process.platform} ${process.arch}`;
  }
  if (spawnSync(CLANG, ['--version']).status === 0) return null;
  return `${CLANG} was not found: apt-get install -y clang-19 libclang-rt-19-dev llvm-19 lld-19`;
}
