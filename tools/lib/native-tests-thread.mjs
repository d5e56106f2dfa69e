// A thread that runs the C++ tests and posts their counts: its owner runs other tests meanwhile. What it prints comes when the owner
// waits for it.
import { parentPort } from 'node:worker_threads';
import { runNativeTests } from './native-tests.mjs';

parentPort?.postMessage(runNativeTests());
