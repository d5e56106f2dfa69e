import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import type { UserMessage } from '../conversation/conversation.js';
import type { Attachment } from '../media/attachment.js';
import { AttachmentRow } from '../media/attachment-row.js';
import { readFiles, withBudget } from '../media/attachments.js';
import { Icon } from '../shell/icon.js';
import { editedId, saveEdit } from './actions.js';
import { MessageEditor } from './message-editor.js';

/** Changes the text and the attachments of the user's message. */
export function QuestionEditor({ message }: { readonly message: UserMessage }) {
  const attachments = useSignal<readonly Attachment[]>(message.attachments);
  const picker = useRef<HTMLInputElement>(null);
  const add = async (files: FileList | null | undefined) => {
    const read = await readFiles([...(files ?? [])]);
    attachments.value = [...attachments.value, ...read];
  };
  return (
    <div
      onPaste={(event) => {
        if ((event.clipboardData?.files.length ?? 0) === 0) return;
        event.preventDefault();
        event.stopPropagation();
        void add(event.clipboardData?.files);
      }}
    >
      {attachments.value.length > 0 && (
        <AttachmentRow
          attachments={attachments.value}
          onRemove={(id) => {
            attachments.value = attachments.value.filter((one) => one.id !== id);
          }}
          onBudget={(id, budget) => {
            attachments.value = withBudget(attachments.value, id, budget);
          }}
        />
      )}
      <input
        ref={picker}
        type="file"
        class="edit-picker"
        multiple
        hidden
        onChange={async ({ currentTarget }) => {
          await add(currentTarget.files);
          currentTarget.value = '';
        }}
      />
      <button type="button" class="quiet" onClick={() => picker.current!.click()}>
        <Icon name="attach" /> Attach to this message
      </button>
      <MessageEditor
        label="Edit your message"
        text={message.text}
        save="Send as a new branch"
        onSave={(text) => saveEdit(message, text, attachments.value)}
        onCancel={() => {
          editedId.value = null;
          document.getElementById('draft')?.focus();
        }}
      />
    </div>
  );
}
