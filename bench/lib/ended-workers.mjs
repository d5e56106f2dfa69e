// usage: node ended-workers.mjs COUNT: ends worker threads while they generate, four at a time.
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { modelPath } from '../../packages/demo-model/dist/index.js';
import { openDevice } from '../../packages/metal-runtime/dist/index.js';
import { loadTextModel, stream } from '../../packages/text/dist/index.js';

const AT_ONCE = 4;

if (isMainThread) {
  const endOne = async () => {
    const worker = new Worker(new URL(import.meta.url));
    await new Promise((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    });
    await worker.terminate();
  };
  const count = Number(process.argv[2]);
  for (let index = 0; index < count; index += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, endOne));
} else {
  const device = await openDevice({ kind: 'cpu', threads: 1 });
  const model = await loadTextModel(modelPath, device, { maxSequences: 1 });
  for await (const event of stream(model, { prompt: 'Once', maxTokens: 400 }))
    parentPort.postMessage(event.type);
}
