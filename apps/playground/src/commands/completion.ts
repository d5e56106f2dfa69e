import { Argument, Command } from 'commander';
import { completionModel } from '../completion/completion-model.js';
import { completionScript, SHELLS, type Shell } from '../completion/scripts.js';

/** `markbase completion`: a script for the shell. */
export function completionCommand(): Command {
  return new Command('completion')
    .description(
      'Print a script that teaches a shell to complete commands and options: source <(markbase completion bash)',
    )
    .addArgument(new Argument('<shell>', 'which shell').choices(SHELLS))
    .action((shell: Shell, _flags: unknown, command: Command) => {
      process.stdout.write(completionScript(shell, completionModel(command.parent ?? command)));
    });
}
