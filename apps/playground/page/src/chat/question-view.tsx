import { useEffect, useRef } from 'preact/hooks';
import type { UserMessage } from '../conversation/conversation.js';
import { AttachmentView } from '../media/attachment-view.js';
import { editedId, saveEdit } from './actions.js';
import { isAnswering } from './answering.js';
import { BranchSwitch } from './branch-switch.js';
import { CopyButton } from './copy-button.js';

/** The user's message, and how to edit it. */
export function QuestionView({ message }: { readonly message: UserMessage }) {
  return (
    <article class="message question" aria-label="You">
      {message.attachments.length > 0 && (
        <div class="attachments">
          {message.attachments.map((attachment) => (
            <AttachmentView key={attachment.id} attachment={attachment} />
          ))}
        </div>
      )}
      {editedId.value === message.id ? (
        <Editor message={message} />
      ) : (
        <>
          {message.text !== '' && <p class="question-text">{message.text}</p>}
          <div class="message-bar">
            <BranchSwitch id={message.id} />
            <button
              type="button"
              class="quiet"
              disabled={isAnswering.value}
              onClick={() => {
                editedId.value = message.id;
              }}
            >
              Edit
            </button>
            <CopyButton text={() => message.text} />
          </div>
        </>
      )}
    </article>
  );
}

function Editor({ message }: { readonly message: UserMessage }) {
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.focus(), []);
  const save = () => saveEdit(message, area.current!.value);
  const cancel = () => {
    editedId.value = null;
  };
  return (
    <form
      class="editor"
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <textarea
        ref={area}
        rows={3}
        aria-label="Edit your message"
        defaultValue={message.text}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
            event.preventDefault();
            save();
          } else if (event.key === 'Escape') {
            event.stopPropagation();
            cancel();
          }
        }}
      />
      <div class="buttons">
        <button type="submit" class="primary">
          Send as a new branch
        </button>
        <button type="button" onClick={cancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}
