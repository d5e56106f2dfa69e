// Tasks that h200.sh runs in separate processes, so that one that fails or hangs does not affect the others.
// usage: node worker.mjs TASK JSON     (prints lines of JSON)
const TASKS = {
  device: () => import('./device-checks.mjs'),
  conformance: () => import('./conformance-shard.mjs'),
  profile: () => import('./profile-steps.mjs'),
  vision: () => import('./tower-times.mjs'),
  audio: () => import('./tower-times.mjs'),
};

const [task, parameters] = process.argv.slice(2);
const tasks = await TASKS[task]();
const print = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
try {
  await tasks[task](JSON.parse(parameters), print);
} catch (error) {
  process.stderr.write(`${error.message.replaceAll('\n', ' ')}\n`);
  process.exitCode = 1;
}
