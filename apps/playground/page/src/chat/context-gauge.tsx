import { pathOf } from '../conversation/conversation.js';
import { conversation } from '../conversation/current.js';
import { attachments } from '../media/attachments.js';
import { loadedModel } from '../model/model-state.js';
import { draftTokens, usedTokens } from './context.js';
import { draft } from './drafts.js';

/** How much of the model's context the conversation takes, with what is being written. */
export function ContextGauge() {
  const limit = loadedModel.value?.contextTokens;
  if (limit === undefined) return null;
  const last = pathOf(conversation.value).at(-1)?.id ?? null;
  const used = usedTokens(conversation.value, last) + draftTokens(draft.value, attachments.value);
  if (used === 0) return null;
  const text = `${used.toLocaleString('en')} of ${limit.toLocaleString('en')} tokens`;
  return (
    <span class={`context-gauge ${used >= limit ? 'full' : ''}`} title={`Context: ${text}`}>
      <meter
        min={0}
        max={limit}
        high={0.8 * limit}
        value={Math.min(used, limit)}
        aria-label={`Context: ${text}`}
      />
      <span aria-hidden="true">
        {used >= limit ? 'Context full' : `${Math.round((100 * used) / limit)} %`}
      </span>
    </span>
  );
}
