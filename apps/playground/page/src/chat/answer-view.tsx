import { useSignal } from '@preact/signals';
import {
  type AssistantMessage,
  answerText,
  type Round,
  select,
  siblingsOf,
} from '../conversation/conversation.js';
import { changeConversation, conversation } from '../conversation/current.js';
import { Markdown } from '../markdown/markdown.js';
import { formatDuration } from '../model/format.js';
import { loadedModel } from '../model/model-state.js';
import { Cost } from '../performance/cost.js';
import { comparedIds, deleteMessage, regenerate, toggleComparison } from './actions.js';
import { continueAnswer, isAnswering, saveAnswer } from './answering.js';
import { BranchSwitch } from './branch-switch.js';
import { ContextChoice } from './context-choice.js';
import { CopyButton } from './copy-button.js';
import { LiveRate } from './live-rate.js';
import { MessageEditor } from './message-editor.js';
import { ReadAloud } from './read-aloud.js';
import { ToolUseView } from './tool-use-view.js';

/** The model's answer, or all of its versions side by side. */
export function AnswerView({ message }: { readonly message: AssistantMessage }) {
  const { parentId } = message;
  if (!comparedIds.value.has(parentId)) return <OneAnswer message={message} />;
  const versions = siblingsOf(conversation.value, message.id).filter((one) => one.role === 'assistant');
  return (
    <section class="comparison" aria-label="Answers side by side">
      <div class="comparison-columns">
        {versions.map((version) => (
          <div key={version.id} class={version.id === message.id ? 'chosen' : ''}>
            <OneAnswer message={version} />
            <button
              type="button"
              aria-pressed={version.id === message.id}
              onClick={() => changeConversation((chat) => select(chat, version.id))}
            >
              {version.id === message.id ? 'Chosen' : 'Choose this answer'}
            </button>
          </div>
        ))}
      </div>
      <div class="buttons">
        <button type="button" onClick={() => regenerate(parentId)}>
          Another answer
        </button>
        <button type="button" onClick={() => toggleComparison(parentId)}>
          Show only the chosen one
        </button>
      </div>
    </section>
  );
}

/** One answer: folded reasoning, tools, text, and statistics. */
function OneAnswer({ message }: { readonly message: AssistantMessage }) {
  const isStreaming = message.status === 'streaming';
  const isEdited = useSignal(false);
  if (isEdited.value) {
    return (
      <article class="message answer" aria-label="Model">
        <MessageEditor
          label="Edit the answer"
          text={answerText(message)}
          save="Save as another version"
          onSave={(text) => {
            isEdited.value = false;
            if (text.trim() !== '') saveAnswer(message, text);
          }}
          onCancel={() => {
            isEdited.value = false;
          }}
        />
      </article>
    );
  }
  return (
    <article class="message answer" aria-label="Model" aria-busy={isStreaming}>
      {message.rounds.map((round, index) => (
        // Rounds are only ever appended.
        <RoundView
          key={index}
          round={round}
          isStreaming={isStreaming && index === message.rounds.length - 1}
        />
      ))}
      <Ending message={message} />
      {isStreaming ? (
        <LiveRate id={message.id} />
      ) : (
        <AnswerBar
          message={message}
          onEdit={() => {
            isEdited.value = true;
          }}
        />
      )}
    </article>
  );
}

/** Why an answer ended early, and what to do about it. */
function Ending({ message }: { readonly message: AssistantMessage }) {
  const { status, error, isContextFull } = message;
  return (
    <>
      {status === 'stopped' && <p class="hint">Stopped.</p>}
      {status === 'length' &&
        (hasFilledContext(message) ? (
          <p class="hint">The answer ended because the context is full.</p>
        ) : (
          <p class="hint">The answer reached its maximum length. You can raise it under Settings.</p>
        ))}
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
      {(isContextFull || (status === 'length' && hasFilledContext(message))) && (
        <ContextChoice message={message} />
      )}
    </>
  );
}

function hasFilledContext({ statistics }: AssistantMessage): boolean {
  const limit = loadedModel.value?.contextTokens;
  return (
    statistics !== null &&
    limit !== undefined &&
    statistics.promptTokens + statistics.completionTokens >= limit - 1
  );
}

function AnswerBar({ message, onEdit }: { readonly message: AssistantMessage; readonly onEdit: () => void }) {
  const { id, parentId, status, rounds, statistics } = message;
  const isCut = status === 'stopped' || status === 'length' || status === 'failed';
  const hasContent = rounds.some(
    ({ text, reasoning, toolUses }) => text + reasoning !== '' || toolUses.length > 0,
  );
  const isCompared = comparedIds.value.has(parentId);
  return (
    <div class="message-bar">
      {!isCompared && <BranchSwitch id={id} />}
      {isCut && hasContent && (
        <button
          type="button"
          class="quiet"
          disabled={isAnswering.value}
          onClick={() => void continueAnswer(message)}
        >
          Continue
        </button>
      )}
      {!isCompared && (
        <button type="button" class="quiet" disabled={isAnswering.value} onClick={() => regenerate(parentId)}>
          Regenerate
        </button>
      )}
      <CopyButton text={() => answerText(message)} />
      <button type="button" class="quiet" disabled={isAnswering.value} onClick={onEdit}>
        Edit
      </button>
      {!isCompared && (
        <button
          type="button"
          class="quiet"
          disabled={isAnswering.value}
          onClick={() => toggleComparison(parentId)}
        >
          Compare
        </button>
      )}
      <ReadAloud id={id} text={() => answerText(message)} />
      <button type="button" class="quiet" disabled={isAnswering.value} onClick={() => deleteMessage(id)}>
        Delete
      </button>
      {statistics && <Cost statistics={statistics} />}
    </div>
  );
}

function RoundView({ round, isStreaming }: { readonly round: Round; readonly isStreaming: boolean }) {
  const { reasoning, reasoningMs, text, toolUses } = round;
  const isThinking = isStreaming && text === '' && toolUses.length === 0;
  const thoughts = reasoningMs === undefined ? 'Thoughts' : `Thought for ${formatDuration(reasoningMs)}`;
  return (
    <>
      {reasoning !== '' && (
        <details class="reasoning">
          <summary>{isThinking ? 'Thinking…' : thoughts}</summary>
          <Markdown text={reasoning} />
        </details>
      )}
      {text !== '' && <Markdown text={text} />}
      {toolUses.map((use) => (
        <ToolUseView key={use.id} use={use} />
      ))}
      {isStreaming && <span class="cursor" aria-hidden="true" />}
    </>
  );
}
