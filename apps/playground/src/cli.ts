#!/usr/bin/env node
import { applyConfig } from './config/apply-config.js';
import { readConfigFile } from './config/config-file.js';
import { reportError } from './errors.js';
import { createProgram } from './program.js';
import { clearLine } from './progress.js';

// A reader that closes early (`markbase inspect … | head`) is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

try {
  const program = createProgram();
  const config = await readConfigFile();
  if (config) applyConfig(program, config);
  await program.parseAsync();
} catch (error) {
  clearLine();
  process.exitCode = reportError(error);
}
