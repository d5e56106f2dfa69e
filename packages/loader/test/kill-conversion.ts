import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openCheckpoint } from '../src/checkpoint/open-checkpoint.js';
import { openSafetensors } from '../src/safetensors/open-safetensors.js';

/** Converts with `resume`, and reports on standard output when it begins and what it kept. */
const CHILD = `
  import { quantizeCheckpoint } from '@markbase/loader';
  const [source, target] = process.argv.slice(1);
  process.stdout.write('begin\\n');
  const options = { bits: 4, groupSize: 64, maxShardBytes: 60_000, resume: true };
  const report = await quantizeCheckpoint(source, target, options);
  process.stdout.write('kept ' + report.resumedBytes + '\\n');
`;
const PACKAGE = join(dirname(fileURLToPath(import.meta.url)), '..');

/** The outcome of a series of killed conversions. */
export interface KillReport {
  readonly kills: number;
  /** Conversions that finished. */
  readonly completed: number;
  /** How many of these reused data of a killed one. */
  readonly resumed: number;
}

/** Digests of all visible files of a folder, by name. */
export async function visibleFiles(folder: string): Promise<Map<string, string>> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => !name.startsWith('.'));
  const files = new Map<string, string>();
  for (const name of names) {
    files.set(
      name,
      createHash('sha256')
        .update(await readFile(join(folder, name)))
        .digest('hex'),
    );
  }
  return files;
}

/**
 * Kills conversions at random moments and lets later ones resume, until `kills` of them were killed.
 *
 * After every kill, each visible file must be complete and equal to that of an undisturbed conversion, and a folder with config.json must
 * be a complete checkpoint. `complain` is called with every violation.
 */
export async function killConversions(
  source: string,
  target: string,
  expected: ReadonlyMap<string, string>,
  kills: number,
  random: () => number,
  complain: (breach: string) => void,
): Promise<KillReport> {
  let done = 0;
  let completed = 0;
  let resumed = 0;
  // The duration of a conversion is measured on those that finish.
  let typicalMs = 400;
  while (done < kills) {
    const run = await runChild(source, target, random() * typicalMs * 1.2);
    await checkVisible(target, expected, complain);
    if (run.keptBytes === null) {
      done++;
      continue;
    }
    completed++;
    if (run.keptBytes > 0) resumed++;
    typicalMs = Math.max(20, run.durationMs, typicalMs * 0.7);
    if ((await visibleFiles(target)).size !== expected.size) complain('a finished conversion lacks files');
    await rm(target, { recursive: true, force: true });
  }
  const last = await runChild(source, target, Number.POSITIVE_INFINITY);
  await checkVisible(target, expected, complain);
  if (last.keptBytes === null || (await visibleFiles(target)).size !== expected.size) {
    complain('the last conversion did not finish');
  }
  return { kills: done, completed: completed + 1, resumed: resumed + ((last.keptBytes ?? 0) > 0 ? 1 : 0) };
}

async function runChild(
  source: string,
  target: string,
  killAfterMs: number,
): Promise<{ keptBytes: number | null; durationMs: number }> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', CHILD, source, target], {
    cwd: PACKAGE,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  let beginMs = 0;
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const begun = new Promise<void>((resolve) => {
    child.stdout.on('data', (text: Buffer) => {
      if (output === '') beginMs = performance.now();
      output += text.toString();
      resolve();
    });
  });
  await Promise.race([begun, ended]);
  if (killAfterMs !== Number.POSITIVE_INFINITY) {
    await Promise.race([delay(killAfterMs), ended]);
    child.kill('SIGKILL');
  }
  await ended;
  const kept = /kept (\d+)/.exec(output);
  return { keptBytes: kept === null ? null : Number(kept[1]), durationMs: performance.now() - beginMs };
}

async function checkVisible(
  target: string,
  expected: ReadonlyMap<string, string>,
  complain: (breach: string) => void,
): Promise<void> {
  const files = await visibleFiles(target);
  for (const [name, digest] of files) {
    if (expected.get(name) !== digest) complain(`${name} is torn`);
    if (name.endsWith('.safetensors')) await openSafetensors(join(target, name));
  }
  if (!files.has('config.json')) return;
  if (files.size !== expected.size) complain(`config.json is there, but only ${files.size} files are`);
  await openCheckpoint(target);
}
