import { stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { availableParallelism, cpus, freemem, release, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { hasErrorCode, InvalidArgumentError } from '@markbase/core';
import { Command } from 'commander';
import { formatBytes, printJson, printLines } from '../output.js';
import { adviceForMac } from './metal-check.js';

type Runtime = typeof import('@markbase/metal-runtime');

const DEVICE_KINDS = ['metal', 'cuda', 'metal-sim', 'cpu'] as const;
const NO_ADDON = 'NATIVE_ADDON_LOAD';
/** With less memory, not even the smallest released checkpoint (E2B at 4 bits) stays in memory. */
const SMALL_MEMORY_BYTES = 4e9;

interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  /** What to do; null if nothing. */
  readonly advice: string | null;
}

/** `markbase doctor`: shows what this machine can run and what is missing. */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description('Show what this machine can run, and how to fix what is missing.')
    .option('--model <dir>', 'also check whether this checkpoint fits in memory; reads only its headers')
    .option('--adapter <dir...>', 'LoRA adapters that are to be loaded with it')
    .option('--json', 'print the result as JSON', false)
    .action(async (flags: { model?: string; adapter?: string[]; json: boolean }) => {
      if (flags.adapter && !flags.model) {
        throw new InvalidArgumentError({
          argument: '--adapter',
          expected: 'a --model that it belongs to',
          received: flags.adapter,
        });
      }
      const report = await examine(flags.model ?? null, flags.adapter ?? []);
      if (flags.json) printJson(report);
      else printLines(reportLines(report));
      if (!report.ok) process.exitCode = 1;
    });
}

type Report = Awaited<ReturnType<typeof examine>>;

async function examine(directory: string | null, adapters: readonly string[]) {
  const runtime = await tryTo(() => import('@markbase/metal-runtime'));
  const devices = await Promise.all(
    DEVICE_KINDS.map(async (kind) => {
      const found = await tryTo(() => openInfo(runtime, kind));
      return 'value' in found
        ? { kind, available: true as const, ...found.value }
        : { kind, available: false as const, reason: found.reason };
    }),
  );
  const gpu = devices.find((device) => device.available && device.kind === 'cuda');
  const model =
    directory && (await modelNeeds(directory, adapters, gpu?.available ? gpu.totalMemoryBytes : totalmem()));
  const isas = await tryTo(async () => requireValue(runtime).listIsas());
  const demo = await tryTo(demoModelPath);
  const checks = [nodeCheck(), deviceCheck(devices, loadError(isas)), memoryCheck(), demoCheck(demo)];
  if (process.platform === 'darwin') checks.push(metalCheck(devices));
  if (model) checks.push(modelCheck(model));
  return {
    ok: checks.every((check) => check.ok),
    versions: {
      node: process.versions.node,
      napi: process.versions.napi ?? null,
      markbase: versionOf('../package.json'),
      runtime: versionOf('@markbase/metal-runtime/package.json'),
    },
    machine: {
      platform: `${process.platform}-${process.arch}`,
      processor: cpus()[0]?.model ?? 'unknown',
      threads: availableParallelism(),
      totalMemoryBytes: totalmem(),
      freeMemoryBytes: freemem(),
    },
    isas: 'value' in isas ? isas.value : [],
    devices,
    demoModel: 'value' in demo ? demo.value : null,
    model,
    checks,
  };
}

async function openInfo(runtime: Outcome<Runtime>, kind: (typeof DEVICE_KINDS)[number]) {
  const device = await requireValue(runtime).openDevice({ kind });
  try {
    const { name, isa, threads, totalMemoryBytes, driver } = device.info;
    return { name, isa, threads, totalMemoryBytes, driver };
  } finally {
    device.dispose();
  }
}

function nodeCheck(): Check {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  // The `engines` of the packages.
  const ok = major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19);
  return {
    name: 'node',
    ok,
    detail: `Node ${process.versions.node}`,
    advice: ok ? null : 'install Node 20.19, 22.12 or newer',
  };
}

/** `loadError`: why there is no addon; it says what to do. */
function deviceCheck(
  devices: readonly { kind: string; available: boolean; reason?: string }[],
  loadError: string | null,
): Check {
  const usable = devices.filter((device) => device.available).map((device) => device.kind);
  const reason = loadError ?? devices.find((device) => device.kind === 'cpu')?.reason;
  return {
    name: 'device',
    ok: usable.length > 0,
    detail: usable.length > 0 ? usable.join(', ') : `none: ${reason}`,
    advice: null,
  };
}

function loadError(outcome: Outcome<unknown>): string | null {
  const error = 'error' in outcome ? outcome.error : null;
  return hasErrorCode(error, NO_ADDON) ? (error as Error).message : null;
}

function metalCheck(devices: readonly { kind: string; available: boolean; reason?: string }[]): Check {
  const metal = devices.find((device) => device.kind === 'metal');
  const reason = metal?.available ? null : (metal?.reason ?? 'unknown');
  return {
    name: 'metal',
    ok: true,
    detail: reason ?? 'the kernels run on the GPU',
    advice: adviceForMac({ arch: process.arch, release: release(), reason }),
  };
}

function memoryCheck(): Check {
  const isSmall = totalmem() < SMALL_MEMORY_BYTES;
  return {
    name: 'memory',
    ok: true,
    detail: `${formatBytes(freemem())} free of ${formatBytes(totalmem())}`,
    advice: isSmall ? 'use a small checkpoint: E2B at 4 bits reads about 1.3 GB per token' : null,
  };
}

function demoCheck(demo: Outcome<string>): Check {
  return {
    name: 'demo model',
    ok: true,
    detail: 'value' in demo ? demo.value : 'not installed',
    advice: 'value' in demo ? null : 'install @markbase/demo-model, or pass your own checkpoint with --model',
  };
}

type ModelNeeds = Awaited<ReturnType<typeof modelNeeds>>;

/** Memory needs of a checkpoint, from its headers alone; `memoryBytes`: of the GPU, if there is one with its own. */
async function modelNeeds(directory: string, folders: readonly string[], memoryBytes: number) {
  const { checkedModules, estimate, openAdapter, openCheckpoint } = await import('@markbase/loader');
  const checkpoint = await openCheckpoint(directory);
  const adapters = await Promise.all(
    folders.map(async (folder) => ({ modules: checkedModules(await openAdapter(folder), checkpoint) })),
  );
  const { totalBytes, adapterBytes, activePerToken, fit } = estimate(checkpoint, { memoryBytes, adapters });
  return { directory: checkpoint.directory, totalBytes, adapterBytes, activePerToken, fit };
}

function modelCheck({ directory, totalBytes, adapterBytes, activePerToken, fit }: ModelNeeds): Check {
  const { total, dense, experts, lookups, keysAndValues } = activePerToken;
  const fits = fit?.fits ?? true;
  return {
    name: 'model',
    ok: fits,
    detail:
      `${directory} needs ${formatBytes(totalBytes)}${adapterBytes > 0 ? `, of which adapters ${formatBytes(adapterBytes)}` : ''}; each token reads ${formatBytes(total)}: weights ${formatBytes(dense)}, ` +
      `experts ${formatBytes(experts)}, lookups ${formatBytes(lookups)}, keys and values ${formatBytes(keysAndValues)}`,
    advice: fits
      ? null
      : 'use a smaller variant or fewer bits: weights that do not fit in memory are read from disk for every token',
  };
}

async function demoModelPath(): Promise<string> {
  const manifest = createRequire(import.meta.url).resolve('@markbase/demo-model/package.json');
  const directory = join(dirname(manifest), 'model');
  await stat(join(directory, 'config.json'));
  return directory;
}

function reportLines(report: Report): string[] {
  const { versions, machine } = report;
  return [
    `markbase ${versions.markbase ?? 'unknown'}, runtime ${versions.runtime ?? 'unknown'}, Node ${versions.node}`,
    `${machine.platform}, ${machine.processor}, ${machine.threads} threads, ${formatBytes(machine.totalMemoryBytes)} memory`,
    `instruction sets: ${report.isas.join(', ') || 'none'}`,
    '',
    ...report.devices.map((device) =>
      device.available
        ? `${device.kind}: ${device.name}, ${device.isa}, ${
            device.driver === null
              ? `${device.threads} threads`
              : `driver ${device.driver}, ${formatBytes(device.totalMemoryBytes)} memory`
          }`
        : `${device.kind}: not available: ${device.reason}`,
    ),
    '',
    ...report.checks.map(
      ({ name, ok, detail, advice }) =>
        `${ok ? (advice ? 'note' : 'ok') : 'MISSING'}: ${name}: ${detail}${advice ? `; ${advice}` : ''}`,
    ),
  ];
}

/** A result, or the reason why there is none. */
type Outcome<Value> = { readonly value: Value } | { readonly reason: string; readonly error: unknown };

async function tryTo<Value>(work: () => Promise<Value>): Promise<Outcome<Value>> {
  try {
    return { value: await work() };
  } catch (error) {
    return { reason: reasonOf(error), error };
  }
}

function reasonOf(error: unknown): string {
  if (hasErrorCode(error, 'DEVICE_UNAVAILABLE') && 'reason' in error) return String(error.reason);
  // Said once, by the check of devices.
  if (hasErrorCode(error, NO_ADDON)) return 'the native addon cannot be loaded';
  return error instanceof Error ? error.message : String(error);
}

function requireValue<Value>(outcome: Outcome<Value>): Value {
  if ('value' in outcome) return outcome.value;
  throw outcome.error;
}

function versionOf(manifest: string): string | null {
  try {
    return (createRequire(import.meta.url)(manifest) as { version: string }).version;
  } catch {
    return null;
  }
}
