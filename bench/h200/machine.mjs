// Parts about the machine: what it is, whether the engine finds it, and how the driver compiles the PTX.
import { readdirSync, readFileSync, rmSync, statfsSync, statSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import path from 'node:path';
import { COPY_RATE } from './figures.mjs';
import { giga } from './session.mjs';

const QUERY =
  'name,driver_version,compute_cap,memory.total,memory.free,clocks.sm,clocks.max.sm,clocks.mem,power.limit,ecc.mode.current';
/** A rehearsal loads texts that the stand-in compiles quickly. */
const TINY_PTX_BYTES = 8000;
const SHOWN_TEXTS = 20;

/** The GPU according to nvidia-smi, the processor, and copy rates. */
export async function env(session, check) {
  const { bavail, bsize } = statfsSync(session.work);
  const host = {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    diskBytes: bavail * bsize,
  };
  session.say(
    `${host.cpu}, ${host.cores} cores, ${giga(host.memoryBytes)} memory, ${giga(host.diskBytes)} free on disk; Node ${process.version}`,
  );
  const smi = await session.execute('nvidia-smi', [`--query-gpu=${QUERY}`, '--format=csv,noheader']);
  check('nvidia-smi answers', smi.failure === null, smi.failure ?? '');
  if (smi.failure === null) session.say(`${QUERY}\n${smi.stdout.trim()}`);
  const copies = await session.execute('python3', [path.join(session.run, 'driver.py'), 'bandwidth']);
  // Only this measurement needs Python and large buffers; the engine does not.
  check('copies are measured', copies.failure === null ? true : null, copies.failure ?? '');
  const rates = copies.failure === null ? JSON.parse(copies.stdout) : null;
  if (rates) {
    const share = ((100 * rates.copy) / COPY_RATE).toFixed(0);
    session.say(
      `copy on the GPU ${giga(rates.copy)}/s (${share}% of the rate in the table), ` +
        `to it ${giga(rates.toDevice)}/s, from it ${giga(rates.toHost)}/s`,
    );
  }
  return { host, smi: smi.stdout.trim(), rates };
}

/** The engine's report about the machine. */
export async function doctor(session, check) {
  const { value, failure } = await session.json(['doctor']);
  if (!value) {
    check('doctor answers', false, failure);
    return null;
  }
  const cuda = value.devices.find(({ kind }) => kind === 'cuda');
  check('cuda is available', cuda.available, cuda.reason);
  if (cuda.available)
    session.say(`${cuda.name}, ${cuda.isa}, ${cuda.driver}, ${giga(cuda.totalMemoryBytes)}`);
  return value;
}

/** Milliseconds that the driver takes to load each text, first with an empty cache and then again, and spilled registers. */
export async function jit(session, check) {
  const capability = await computeCapability(session);
  const folder = path.join(session.run, 'build/ptx', capability < 9 ? 'sm_80' : 'sm_90');
  // Texts that exist only for 9.0.
  const isOther = (name) =>
    capability !== 9 && /^\.target sm_90a/m.test(readFileSync(path.join(folder, name), 'utf8'));
  const bytesOf = (name) => statSync(path.join(folder, name)).size;
  const sources = readdirSync(folder)
    .filter((name) => (!session.isTiny || bytesOf(name) < TINY_PTX_BYTES) && !isOther(name))
    // Largest first, so that none of them runs alone at the end.
    .sort((a, b) => bytesOf(b) - bytesOf(a));
  rmSync(session.env.CUDA_CACHE_PATH, { recursive: true, force: true });
  const texts = Object.fromEntries(sources.map((name) => [name, { bytes: bytesOf(name) }]));
  const loadAll = (kind) =>
    session.inParallel(
      availableParallelism(),
      sources.map((name) => async () => {
        const { stdout, failure } = await session.execute('python3', [
          path.join(session.run, 'driver.py'),
          ...['load', path.join(folder, name)],
        ]);
        check(`${name} loads, ${kind}`, failure === null, failure ?? '');
        if (failure === null) texts[name][kind] = JSON.parse(stdout);
      }),
    );
  const start = performance.now();
  await loadAll('cold');
  const coldSeconds = (performance.now() - start) / 1000;
  await loadAll('warm');
  const loaded = Object.entries(texts).filter(([, { cold }]) => cold !== undefined);
  const slowest = loaded.sort(([, a], [, b]) => b.cold.ms - a.cold.ms).slice(0, SHOWN_TEXTS);
  for (const [name, { bytes, cold, warm }] of slowest) {
    const size = (bytes / 1e3).toFixed(0).padStart(5);
    session.say(
      `${name.padEnd(32)} ${size} kB ${cold.ms.toFixed(0).padStart(6)} ms, again ${warm?.ms.toFixed(0) ?? '-'} ms, ` +
        `${cold.registers} registers`,
    );
  }
  const spilling = loaded.flatMap(([, { cold }]) => Object.entries(cold.spills));
  for (const [kernel, local] of spilling) session.say(`${kernel} has ${local} bytes of local memory`);
  session.say(
    `all ${loaded.length}, ${availableParallelism()} at a time: ${coldSeconds.toFixed(1)} s with an empty cache`,
  );
  return { coldSeconds, texts };
}

/** Compute capability according to nvidia-smi, such as 9 or 8.6; 9 without a GPU. */
async function computeCapability(session) {
  const { stdout, failure } = await session.execute('nvidia-smi', [
    ...['--query-gpu=compute_cap', '--format=csv,noheader'],
  ]);
  return failure === null ? Number.parseFloat(stdout) : 9;
}

/** Description of the bundle. */
export function readAbout(bundle) {
  return JSON.parse(readFileSync(path.join(bundle, 'about.json'), 'utf8'));
}
