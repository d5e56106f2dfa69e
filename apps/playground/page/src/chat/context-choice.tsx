import { useSignal } from '@preact/signals';
import { describeError } from '../api/describe-error.js';
import type { AssistantMessage } from '../conversation/conversation.js';
import { currentId } from '../conversation/current.js';
import type { WhenFull } from '../settings/answer-settings.js';
import { changeSettings, settings } from '../settings/settings.js';
import { newChat } from './actions.js';
import { continueAnswer } from './answering.js';
import { makeRoom } from './context.js';
import { isAnswering } from './running-answers.js';

/** What to do with a conversation that does not fit the context. */
export function ContextChoice({ message }: { readonly message: AssistantMessage }) {
  const problem = useSignal<string | null>(null);
  const isAlways = useSignal(false);
  const isWorking = useSignal(false);
  const choose = async (whenFull: WhenFull) => {
    isWorking.value = true;
    problem.value = null;
    try {
      if (isAlways.value) changeSettings({ whenFull });
      const abort = new AbortController();
      const asked = { ...settings.value, whenFull };
      if (await makeRoom(currentId.value, message.id, asked, abort.signal)) void continueAnswer(message);
      else
        problem.value =
          'The last message alone does not fit. Shorten it, or load the model with a longer context.';
    } catch (error) {
      problem.value = describeError(error);
    } finally {
      isWorking.value = false;
    }
  };
  return (
    <fieldset class="context-choice" disabled={isAnswering.value || isWorking.value}>
      <legend>The context is full</legend>
      <div class="buttons">
        <button type="button" onClick={() => void choose('drop')}>
          Leave out the oldest turns
        </button>
        <button type="button" onClick={() => void choose('summarise')}>
          Summarise the oldest turns
        </button>
        <button type="button" onClick={newChat}>
          Start a new chat
        </button>
      </div>
      <label class="check">
        <input
          type="checkbox"
          checked={isAlways.value}
          onChange={({ currentTarget }) => {
            isAlways.value = currentTarget.checked;
          }}
        />
        Do the same from now on
      </label>
      {problem.value && (
        <p class="error" role="alert">
          {problem.value}
        </p>
      )}
    </fieldset>
  );
}
