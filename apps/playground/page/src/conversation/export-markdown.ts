import { type AssistantMessage, type Conversation, pathOf, titleOf } from './conversation.js';

/** The shown branch of a conversation as a Markdown document. */
export function conversationMarkdown(conversation: Conversation): string {
  const { systemPrompt } = conversation;
  const parts = [`# ${titleOf(conversation) || 'Conversation'}`];
  if (systemPrompt.trim() !== '') parts.push('## System', systemPrompt.trim());
  for (const message of pathOf(conversation)) {
    if (message.role === 'user') {
      const names = message.attachments.map(({ name }) => `* attached: ${name}`).join('\n');
      parts.push('## You', names, message.text);
    } else {
      parts.push('## Model', ...answerParts(message));
    }
  }
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

function answerParts({ rounds, status }: AssistantMessage): string[] {
  const parts = rounds.flatMap(({ reasoning, text, toolUses }) => [
    reasoning.trim() === '' ? '' : quoted(`Thoughts: ${reasoning.trim()}`),
    text,
    ...toolUses.map(({ name, arguments: args, result }) => `    ${name}(${args}) → ${result ?? '…'}`),
  ]);
  return status === 'stopped' ? [...parts, '*Stopped.*'] : parts;
}

function quoted(text: string): string {
  return text.replace(/^/gm, '> ');
}
