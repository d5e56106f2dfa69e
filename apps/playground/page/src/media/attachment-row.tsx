import { IMAGE_TOKEN_BUDGETS } from '@markbase/loader/browser';
import { loadedModel } from '../model/model-state.js';
import { Icon } from '../shell/icon.js';
import type { Attachment, TextAttachment } from './attachment.js';
import { AttachmentView } from './attachment-view.js';
import { hasPages } from './pdf.js';

/** Attachments that can be changed, in one row however many there are: the rest of it is scrolled to. */
export function AttachmentRow(props: {
  readonly attachments: readonly Attachment[];
  onRemove(id: string): void;
  onBudget(id: string, budget: number): void;
  /** Turns the text of a PDF into pictures of its pages; absent = not offered. */
  onPages?(pdf: TextAttachment): void;
}) {
  const model = loadedModel.value;
  const { onPages } = props;
  return (
    // A scrollable region must be reachable with the keyboard.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section class="attachment-row" aria-label="Attachments" tabIndex={0}>
      {props.attachments.map((attachment) => (
        <AttachmentView key={attachment.id} attachment={attachment}>
          {attachment.kind === 'image' && model?.media.image && (
            <select
              aria-label={`Budget of ${attachment.name}`}
              value={attachment.budget}
              onChange={({ currentTarget }) => props.onBudget(attachment.id, Number(currentTarget.value))}
            >
              {IMAGE_TOKEN_BUDGETS.map((budget) => (
                <option key={budget} value={budget}>
                  up to {budget} tokens
                </option>
              ))}
            </select>
          )}
          {attachment.kind === 'text' && onPages && model?.media.image && hasPages(attachment) && (
            <button type="button" class="quiet pages" onClick={() => onPages(attachment)}>
              Pages as pictures
            </button>
          )}
          <button
            type="button"
            class="quiet round remove"
            aria-label={`Remove ${attachment.name}`}
            title="Remove"
            onClick={() => props.onRemove(attachment.id)}
          >
            <Icon name="close" />
          </button>
        </AttachmentView>
      ))}
    </section>
  );
}
