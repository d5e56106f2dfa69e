import { Command } from 'commander';
import { addSamplingFlags } from '../answering/answer-flags.js';
import { type ChatFlags, startChat } from '../chat/start-chat.js';
import { addDeviceFlags } from '../options.js';

/** `markbase chat`: a conversation in the terminal. */
export function chatCommand(): Command {
  const command = new Command('chat')
    .description(
      'Chat with a model in the terminal. /help lists commands such as /image FILE and /audio FILE. ' +
        'Ctrl-C stops an answer. In a pipe, every line is a message.',
    )
    .argument('[prompt...]', 'the first message')
    .option(
      '--model <dir>',
      'checkpoint folder, org/name on the hub, or a name of "markbase list" (default: the demo model)',
    )
    .option('--no-history', 'do not remember messages for the next chat');
  return addDeviceFlags(addSamplingFlags(command), 'fast').action(
    (words: readonly string[], flags: ChatFlags) => startChat(flags, words.join(' ')),
  );
}
