#!/usr/bin/env node
import type { Command } from 'commander';
import { applyConfig } from './config/apply-config.js';
import { readConfigFile } from './config/config-file.js';
import { reportError } from './errors.js';
import { createProgram } from './program.js';
import { clearLine } from './progress.js';
import { showWelcome } from './welcome.js';

// A reader that closes early (`markbase inspect … | head`) is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

/** After the paths of Node and of this file. */
const FIRST_ARGUMENT = 2;

let started: Command | null = null;
try {
  const program = createProgram();
  program.hook('preAction', (_program, command) => {
    started = command;
  });
  const config = await readConfigFile();
  if (config) applyConfig(program, config);
  if (process.argv.length > FIRST_ARGUMENT) await program.parseAsync();
  else await showWelcome();
} catch (error) {
  clearLine();
  process.exitCode = reportError(error, started);
}
