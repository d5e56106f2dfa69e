import { Command } from 'commander';
import { type AnswerFlags, addAnswerFlags, addSamplingFlags } from '../answering/answer-flags.js';
import { answerPrompt } from '../answering/answer-prompt.js';
import { startChat } from '../chat/start-chat.js';
import { addDeviceFlags } from '../options.js';

/** `markbase run`: a chat, or one answer if there is a prompt. */
export function runCommand(): Command {
  const command = new Command('run')
    .description(
      'Chat with a model in the terminal, or answer one prompt: the words after the model, or standard input. A model that ' +
        'is not on this machine is downloaded first. Options of "generate" apply to one answer.',
    )
    .argument('<model>', 'name of "markbase list", org/name on the hub, or checkpoint folder')
    .argument('[prompt...]', 'what to answer; standard input is appended');
  return addDeviceFlags(addAnswerFlags(addSamplingFlags(command)), 'fast').action(
    async (model: string, words: readonly string[], flags: AnswerFlags) => {
      const prompt = words.length > 0 ? words.join(' ') : undefined;
      if (prompt === undefined && process.stdin.isTTY) await startChat({ ...flags, model });
      else await answerPrompt({ ...flags, model, prompt });
    },
  );
}
