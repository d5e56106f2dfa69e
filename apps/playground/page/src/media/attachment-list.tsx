import { IMAGE_TOKEN_BUDGETS } from '@markbase/loader/browser';
import { formatCount } from '../model/format.js';
import { loadedModel } from '../model/model-state.js';
import { Icon } from '../shell/icon.js';
import type { Attachment } from './attachment.js';
import { AttachmentView } from './attachment-view.js';
import { attachmentError, attachments, readingCount, removeAttachment, setBudget } from './attachments.js';
import { tokenCount } from './token-count.js';

/** Attachments of the next message, and the number of tokens they take. */
export function AttachmentList() {
  const model = loadedModel.value;
  const all = attachments.value;
  const total = model ? all.reduce((sum, one) => sum + (tokenCount(one, model.media) ?? 0), 0) : 0;
  return (
    <div class="draft-attachments" aria-live="polite">
      {all.length > 0 && <Row attachments={all} />}
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

/** One row however many there are: the rest of it is scrolled to. */
function Row({ attachments: all }: { readonly attachments: readonly Attachment[] }) {
  const model = loadedModel.value;
  return (
    // A scrollable region must be reachable with the keyboard.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section class="attachment-row" aria-label="Attachments" tabIndex={0}>
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
            class="quiet round remove"
            aria-label={`Remove ${attachment.name}`}
            title="Remove"
            onClick={() => removeAttachment(attachment.id)}
          >
            <Icon name="close" />
          </button>
        </AttachmentView>
      ))}
    </section>
  );
}
