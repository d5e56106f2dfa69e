import { formatCount } from '../model/format.js';
import { loadedModel } from '../model/model-state.js';
import { AttachmentRow } from './attachment-row.js';
import {
  attachmentError,
  attachments,
  readingCount,
  removeAttachment,
  setBudget,
  showPages,
} from './attachments.js';
import { tokenCount } from './token-count.js';

/** Attachments of the next message, and the number of tokens they take. */
export function AttachmentList() {
  const model = loadedModel.value;
  const all = attachments.value;
  const total = model ? all.reduce((sum, one) => sum + (tokenCount(one, model.media) ?? 0), 0) : 0;
  return (
    <div class="draft-attachments" aria-live="polite">
      {all.length > 0 && (
        <AttachmentRow
          attachments={all}
          onRemove={removeAttachment}
          onBudget={setBudget}
          onPages={showPages}
        />
      )}
      {readingCount.value > 0 && <p class="hint">Reading {formatCount(readingCount.value, 'file')}…</p>}
      {model && total > 0 && (
        <p class="hint" id="attachment-total">
          {formatCount(total, 'token')} of {model.contextTokens.toLocaleString('en')} for attachments.
          {total >= model.contextTokens && ' That exceeds the context: remove an attachment.'}
        </p>
      )}
      {attachmentError.value && (
        <p class="error" role="alert">
          {attachmentError.value}
        </p>
      )}
    </div>
  );
}
