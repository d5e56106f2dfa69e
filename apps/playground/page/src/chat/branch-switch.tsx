import { select, siblingsOf } from '../conversation/conversation.js';
import { changeConversation, conversation } from '../conversation/current.js';
import { isAnswering } from './answering.js';

/** Switches between the versions of a message; hidden if there is only one. */
export function BranchSwitch({ id }: { readonly id: string }) {
  const versions = siblingsOf(conversation.value, id);
  if (versions.length < 2) return null;
  const index = versions.findIndex((message) => message.id === id);
  const go = (to: number) => {
    changeConversation((chat) => select(chat, versions[to]!.id));
  };
  return (
    <fieldset class="branches" aria-label="Versions of this message">
      <button
        type="button"
        class="quiet"
        aria-label="Previous version"
        disabled={index === 0 || isAnswering.value}
        onClick={() => go(index - 1)}
      >
        ‹
      </button>
      <span>
        {index + 1} / {versions.length}
      </span>
      <button
        type="button"
        class="quiet"
        aria-label="Next version"
        disabled={index === versions.length - 1 || isAnswering.value}
        onClick={() => go(index + 1)}
      >
        ›
      </button>
    </fieldset>
  );
}
