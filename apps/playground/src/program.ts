import { createRequire } from 'node:module';
import { Command } from 'commander';
import { benchCommand } from './commands/bench.js';
import { chatCommand } from './commands/chat.js';
import { completionCommand, completionServerCommand } from './commands/completion.js';
import { configCommand } from './commands/config.js';
import { doctorCommand } from './commands/doctor.js';
import { generateCommand } from './commands/generate.js';
import { inspectCommand } from './commands/inspect.js';
import { listCommand } from './commands/list.js';
import { mergeCommand } from './commands/merge.js';
import { playgroundCommand } from './commands/playground.js';
import { psCommand } from './commands/ps.js';
import { pullCommand } from './commands/pull.js';
import { quantizeCommand } from './commands/quantize.js';
import { rmCommand } from './commands/rm.js';
import { runCommand } from './commands/run.js';
import { schemaCommand } from './commands/schema.js';
import { serveCommand } from './commands/serve.js';
import { synthCommand } from './commands/synth.js';
import { transcribeCommand } from './commands/transcribe.js';
import { verifyCommand } from './commands/verify.js';
import { expandHomePaths } from './options.js';
import { withSuggestion } from './suggest-option.js';

const { version } = createRequire(import.meta.url)('../package.json') as { version: string };

/** The `markbase` command with all of its subcommands. Errors are thrown; the process is never ended here. */
export function createProgram(): Command {
  const program = new Command('markbase')
    .description('Run, check and measure Gemma 4 checkpoints on this machine.')
    .version(version);
  const commands = [
    runCommand(),
    playgroundCommand(),
    chatCommand(),
    generateCommand(),
    transcribeCommand(),
    listCommand(),
    pullCommand(),
    rmCommand(),
    serveCommand(),
    psCommand(),
    verifyCommand(),
    benchCommand(),
    inspectCommand(),
    synthCommand(),
    quantizeCommand(),
    mergeCommand(),
    schemaCommand(),
    doctorCommand(),
    configCommand(),
    completionCommand(),
  ];
  for (const command of commands) program.addCommand(command);
  program.addCommand(completionServerCommand(), { hidden: true });
  program.hook('preAction', (_, started) => expandHomePaths(started));
  for (const command of [program, ...commands]) {
    command
      .exitOverride()
      .showSuggestionAfterError(false)
      // A failure is always one line.
      .configureOutput({ outputError: (text, write) => write(`${withSuggestion(text, command)}\n`) });
  }
  return program;
}
