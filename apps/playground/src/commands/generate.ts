import { Command } from 'commander';
import { type AnswerFlags, addAnswerFlags, addSamplingFlags } from '../answering/answer-flags.js';
import { answerPrompt } from '../answering/answer-prompt.js';
import { addDeviceFlags } from '../options.js';

/** `markbase generate`: answers one prompt. */
export function generateCommand(): Command {
  const command = new Command('generate')
    .description(
      'Answer a prompt. Text is streamed to standard output, reasoning to standard error. A pipe or a file on standard ' +
        "input is the prompt, or is appended to it. Sampling defaults come from the checkpoint's generation_config.json.",
    )
    .option(
      '--model <dir>',
      'checkpoint folder, org/name on the hub, or a name of "markbase list" (default: the demo model)',
    )
    .option('--prompt <text>', "the user's message; - reads standard input");
  return addDeviceFlags(addAnswerFlags(addSamplingFlags(command)), 'fast').action((flags: AnswerFlags) =>
    answerPrompt(flags),
  );
}
