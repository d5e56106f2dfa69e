import { parentPort, workerData } from 'node:worker_threads';
import { explore } from './explore.js';
import { seedFiles } from './seeds.js';

/** Data passed by the main thread. */
export interface FuzzTask {
  readonly seed: number;
  readonly seconds: number;
  readonly fixtures: string;
  readonly branchCount: number;
  /** The file that is being read: its length, then its bytes. */
  readonly current: SharedArrayBuffer;
}

const task = workerData as FuzzTask;
const branches = (globalThis as { __branches?: Uint8Array }).__branches!.subarray(0, task.branchCount);
const bytes = new Uint8Array(task.current, 8);
const length = new Int32Array(task.current, 0, 2);
const end = performance.now() + task.seconds * 1000;
let nextReport = 0;

const result = await explore({
  seed: task.seed,
  seeds: seedFiles(task.fixtures),
  branches,
  onFile(file) {
    length[0] = file.length;
    bytes.set(file.subarray(0, bytes.length));
    // Counts up, so that the main thread sees progress.
    Atomics.add(length, 1, 1);
  },
  isDone(state) {
    const now = performance.now();
    if (now >= nextReport) {
      nextReport = now + 60_000;
      parentPort!.postMessage({ kind: 'progress', state: { ...state, findings: state.findings.length } });
    }
    return now >= end;
  },
});
parentPort!.postMessage({ kind: 'result', state: result });
