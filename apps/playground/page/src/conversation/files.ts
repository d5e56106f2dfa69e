import { conversation } from './current.js';
import { parseConversation, serializeConversation } from './exchange.js';

/** Saves the conversation, with all branches and attachments, as a file. */
export function exportConversation(): void {
  const blob = new Blob([serializeConversation(conversation.value)], { type: 'application/json' });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = `conversation-${new Date().toISOString().slice(0, 16).replace(':', '-')}.json`;
  link.click();
  // The download starts after this task.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Opens an exported conversation. @returns what is wrong with the file; null if it was opened */
export async function importConversation(file: File): Promise<string | null> {
  try {
    conversation.value = parseConversation(await file.text());
    return null;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return `${file.name} cannot be opened: ${reason}. Choose a file saved with "Export conversation".`;
  }
}
