// Ends the process, or a worker thread, while a step of several seconds runs.
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import { startChain } from './chain.mjs';

const LONG = { rows: 64, layers: 200, value: 1 };

if (isMainThread) {
  const [how, file, width] = process.argv.slice(2);
  const options = { ...LONG, file, width: Number(width) };
  if (how === 'terminate') {
    const worker = new Worker(new URL(import.meta.url), { workerData: options });
    worker.once('message', async () => {
      console.log('started');
      await worker.terminate();
    });
  } else {
    if (how === 'return') options.layers = 4;
    await startChain(options);
    console.log('started');
    if (how === 'exit') setTimeout(() => process.exit(0), 50);
    if (how === 'interrupt') setTimeout(() => process.kill(process.pid, 'SIGINT'), 50);
  }
} else {
  const { parentPort } = await import('node:worker_threads');
  await startChain(workerData);
  parentPort.postMessage('started');
}
