// Loaded into the server with `--import`: measures the longest turn of its event loop in CPU time of that thread, which other
// processes of the machine do not lengthen. Linux only.
import { openSync, readSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const TICK_MS = 1;

if (isMainThread && process.send) {
  const file = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
  const text = Buffer.alloc(64);
  const cpuMs = () => Number(text.toString('latin1', 0, readSync(file, text, 0, 64, 0)).split(' ')[0]) / 1e6;
  let last = cpuMs();
  let longest = 0;
  const tick = () => {
    const now = cpuMs();
    longest = Math.max(longest, now - last);
    last = now;
  };
  setInterval(tick, TICK_MS).unref();
  process.on('message', () => {
    tick();
    process.send(longest);
    longest = 0;
  });
  process.channel.unref();
}
