import { parentPort, workerData } from 'node:worker_threads';
import { startChain } from './chain.mjs';

const { running } = await startChain({ ...workerData, rows: 1, layers: 2 });
const result = await running;
parentPort.postMessage(Math.round(result.outputs.y[0]));
