// usage: node many-devices.mjs COUNT: opens as many devices at once, then one after the other; fails if memory stays.
import { openDevice } from '../../packages/metal-runtime/dist/index.js';

const MOST_GROWTH_BYTES = 256 * 2 ** 20;
const count = Number(process.argv[2]);

async function openAndDispose() {
  const device = await openDevice({ kind: 'cpu', threads: 4 });
  device.dispose();
}

for (let index = 0; index < 20; index++) await openAndDispose();
const before = process.memoryUsage().rss;
const held = [];
for (let index = 0; index < count; index++) held.push(await openDevice({ kind: 'cpu', threads: 1 }));
for (const device of held) device.dispose();
for (let index = 0; index < count; index++) await openAndDispose();
const grown = process.memoryUsage().rss - before;
if (grown > MOST_GROWTH_BYTES) {
  console.error(`memory grew by ${grown} bytes`);
  process.exitCode = 1;
}
