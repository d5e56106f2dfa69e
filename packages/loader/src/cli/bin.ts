import { readFileSync } from 'node:fs';
import { runCli } from './run-cli.js';

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};
const controller = new AbortController();
// The first interrupt lets the command clean up; a second one ends the process as usual.
process.once('SIGINT', () => controller.abort());
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader of a pipe has closed it, which is not a failure of this command.
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});
process.exitCode = await runCli(
  process.argv.slice(2),
  {
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
    isTerminal: process.stderr.isTTY === true,
  },
  manifest.version,
  controller.signal,
);
