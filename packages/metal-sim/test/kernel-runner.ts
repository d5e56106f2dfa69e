import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { buildTarget } from '../tools/compile.mjs';
import { hostTarget, packageRoot } from '../tools/targets.mjs';

/** How a kernel is launched. */
export interface Launch {
  groups?: number;
  threads?: number;
  elements?: number;
  isFast?: boolean;
  env?: Record<string, string>;
}

/** Runs single kernels, each in a separate process. */
export class KernelRunner {
  private readonly folder = temporaryFolder();
  private constructor(private readonly program: string) {}

  static async build(): Promise<KernelRunner> {
    const target = hostTarget(path.join(packageRoot, 'sample/run_kernel.mm'), 'plain');
    const built = await buildTarget(target);
    if (!built.isOk) throw new Error(built.message);
    return new KernelRunner(target.output);
  }

  /** The numbers in buffer 1, or the error message. `source` contains a kernel named k. */
  run(source: string, launch: Launch = {}): number[] | string {
    const { groups = 1, threads = 64, elements = 64, isFast = false, env = {} } = launch;
    const file = path.join(this.folder, 'kernel.metal');
    writeFileSync(file, `#include <metal_stdlib>\nusing namespace metal;\n${source}\n`);
    const args = [file, 'k', groups, threads, elements, isFast ? 'fast' : 'safe'].map(String);
    const done = spawnSync(this.program, args, {
      encoding: 'utf8',
      env: { ...process.env, ...env },
    });
    if (done.status === 1) return done.stdout.replace(/^error: /, '').trim();
    if (done.status !== 0) return `ended with ${done.status ?? done.signal}: ${done.stderr}`;
    return done.stdout.trim().split(' ').map(Number);
  }
}
