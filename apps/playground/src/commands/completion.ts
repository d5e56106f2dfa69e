import { Argument, Command } from 'commander';
import { completionModel } from '../completion/completion-model.js';
import { completionScript, SHELLS, type Shell } from '../completion/scripts.js';

/** `markbase completion`: prints a completion script for a shell. */
export function completionCommand(): Command {
  return new Command('completion')
    .description(
      'Print a shell completion script for commands and options; use it with: source <(markbase completion bash)',
    )
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action((shell: Shell, _flags: unknown, command: Command) => {
      process.stdout.write(completionScript(shell, completionModel(command.parent ?? command)));
    });
}
