import { Argument, Command } from 'commander';
import { completeWords } from '../completion/complete-words.js';

const SHELLS = ['bash', 'zsh', 'fish', 'pwsh'] as const;

/** `markbase completion`: prints a completion script for a shell. */
export function completionCommand(): Command {
  return new Command('completion')
    .description(
      'Print a shell completion script for commands, options, models and files; use it with: source <(markbase completion bash)',
    )
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action(async (shell: (typeof SHELLS)[number]) => {
      const { default: tabtab } = await import('@pnpm/tabtab');
      process.stdout.write(
        await tabtab.getCompletionScript({ name: 'markbase', completer: 'markbase', shell }),
      );
    });
}

/** What the script of `markbase completion` calls for the words of a line. */
export function completionServerCommand(): Command {
  return new Command('completion-server')
    .argument('[words...]')
    .allowUnknownOption()
    .action(async (_words: unknown, _flags: unknown, command: Command) => {
      const { default: tabtab } = await import('@pnpm/tabtab');
      const { complete, partial } = tabtab.parseEnv(process.env);
      if (!complete) return;
      const found = await completeWords(command.parent ?? command, partial.split(/\s+/).slice(1));
      const shell = tabtab.getShellFromEnv(process.env);
      // bash completes files by itself if there is nothing else.
      if (found !== 'files') tabtab.log([...found], shell);
      else if (shell !== 'bash') tabtab.logFiles();
    });
}
