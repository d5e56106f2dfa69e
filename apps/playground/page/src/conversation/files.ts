import { type Conversation, titleOf } from './conversation.js';
import { conversation, openChat } from './current.js';
import { parseConversations, serializeConversations } from './exchange.js';
import { conversationMarkdown } from './export-markdown.js';
import { addChats, wholeLibrary } from './library.js';
import { goTo } from './navigation.js';

/** Formats in which a conversation can be saved. JSON holds all branches and attachments. */
type FileFormat = 'json' | 'markdown';

/** Saves the conversation shown, with all branches and attachments, as a file. */
export function exportConversation(): void {
  save(conversation.value, 'json');
}

/** Saves a conversation as a file. */
export async function exportChat(id: string, format: FileFormat): Promise<void> {
  const chosen = await openChat(id);
  if (chosen) save(chosen, format);
}

/** Saves all conversations as one file. */
export async function exportLibrary(): Promise<void> {
  download(serializeConversations(await wholeLibrary()), 'conversations', 'json');
}

/** Adds the conversations of an exported file. @returns what is wrong with the file; null if they were added */
export async function importConversation(file: File): Promise<string | null> {
  try {
    const id = await addChats(parseConversations(await file.text()));
    if (id !== null) goTo(id);
    return null;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return `${file.name} cannot be opened: ${reason}. Choose a file saved with "Export conversation".`;
  }
}

function save(chosen: Conversation, format: FileFormat): void {
  const name =
    titleOf(chosen)
      .replace(/[^\p{L}\p{N}]+/gu, '-')
      .replace(/^-|-$/g, '') || 'conversation';
  if (format === 'json') download(serializeConversations([chosen]), name, 'json');
  else download(conversationMarkdown(chosen), name, 'md');
}

function download(text: string, name: string, extension: 'json' | 'md'): void {
  const blob = new Blob([text], { type: extension === 'json' ? 'application/json' : 'text/markdown' });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = `${name}.${extension}`;
  link.click();
  // The download starts after this task.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
