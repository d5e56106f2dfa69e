#!/usr/bin/env node
import { reportError } from './errors.js';
import { createProgram } from './program.js';

// A reader that has seen enough (`markbase inspect … | head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

try {
  await createProgram().parseAsync();
} catch (error) {
  process.exitCode = reportError(error);
}
