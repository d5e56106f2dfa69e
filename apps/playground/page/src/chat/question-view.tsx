import type { UserMessage } from '../conversation/conversation.js';
import { changeConversation } from '../conversation/current.js';
import { AttachmentView } from '../media/attachment-view.js';
import { deleteMessage, editedId } from './actions.js';
import { isAnswering } from './answering.js';
import { BranchSwitch } from './branch-switch.js';
import { withoutStart } from './context.js';
import { CopyButton } from './copy-button.js';
import { QuestionEditor } from './question-editor.js';

/** The user's message, and how to edit it. */
export function QuestionView({ message }: { readonly message: UserMessage }) {
  return (
    <>
      {message.contextStart && <ContextMark message={message} />}
      <article class="message question" aria-label="You">
        {editedId.value === message.id ? (
          <QuestionEditor message={message} />
        ) : (
          <>
            {message.attachments.length > 0 && (
              <div class="attachments">
                {message.attachments.map((attachment) => (
                  <AttachmentView key={attachment.id} attachment={attachment} />
                ))}
              </div>
            )}
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
              <button
                type="button"
                class="quiet"
                disabled={isAnswering.value}
                onClick={() => deleteMessage(message.id)}
              >
                Delete
              </button>
            </div>
          </>
        )}
      </article>
    </>
  );
}

/** Where the model's view of the conversation begins. */
function ContextMark({ message }: { readonly message: UserMessage }) {
  const { summary } = message.contextStart!;
  return (
    <div class="context-mark">
      <p>The model does not see what is above{summary === null ? '.' : ', only a summary.'}</p>
      {summary !== null && (
        <details>
          <summary>Summary</summary>
          <p>{summary}</p>
        </details>
      )}
      <button
        type="button"
        class="quiet"
        disabled={isAnswering.value}
        onClick={() => changeConversation((chat) => withoutStart(chat, message.id))}
      >
        Show it everything again
      </button>
    </div>
  );
}
