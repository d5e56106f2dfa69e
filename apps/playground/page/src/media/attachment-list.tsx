import { IMAGE_TOKEN_BUDGETS } from '@markbase/loader/browser';
import { formatCount } from '../model/format.js';
import { loadedModel } from '../model/model-state.js';
import { AttachmentView } from './attachment-view.js';
import { attachmentError, attachments, readingCount, removeAttachment, setBudget } from './attachments.js';
import { tokenCount } from './token-count.js';

/** Attachments of the next message, and the number of tokens they take. */
export function AttachmentList() {
  const model = loadedModel.value;
  const all = attachments.value;
  const total = model ? all.reduce((sum, one) => sum + (tokenCount(one, model.media) ?? 0), 0) : 0;
  return (
    <div class="attachments" aria-live="polite">
      {all.map((attachment) => (
        <AttachmentView key={attachment.id} attachment={attachment}>
          {attachment.kind === 'image' && model?.media.image && (
            <select
              aria-label={`Budget of ${attachment.name}`}
              value={attachment.budget}
              onChange={({ currentTarget }) => setBudget(attachment.id, Number(currentTarget.value))}
            >
              {IMAGE_TOKEN_BUDGETS.map((budget) => (
                <option key={budget} value={budget}>
                  up to {budget} tokens
                </option>
              ))}
            </select>
          )}
          <button
            type="button"
            class="quiet"
            aria-label={`Remove ${attachment.name}`}
            onClick={() => removeAttachment(attachment.id)}
          >
            ✕
          </button>
        </AttachmentView>
      ))}
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
