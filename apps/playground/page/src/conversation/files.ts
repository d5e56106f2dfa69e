import { conversation } from './current.js';
import { parseConversation, serializeConversation } from './exchange.js';

/** Saves the conversation, all branches and attachments, as a file. */
export function exportConversation(): void {
  const blob = new Blob([serializeConversation(conversation.value)], { type: 'application/json' });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = `conversation-${new Date().toISOString().slice(0, 16).replace(':', '-')}.json`;
  link.click();
  // The download begins after this task.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Opens a conversation that was exported. @returns what is wrong with the file; null = it is open */
export async function importConversation(file: File): Promise<string | null> {
  try {
    conversation.value = parseConversation(await file.text());
    return null;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return `${file.name} cannot be opened: ${reason}. Choose a file that "Export conversation" saved.`;
  }
}
