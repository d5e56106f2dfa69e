import { type AssistantMessage, answerText, type Round } from '../conversation/conversation.js';
import { Markdown } from '../markdown/markdown.js';
import { Cost } from '../performance/cost.js';
import { regenerate } from './actions.js';
import { isAnswering } from './answering.js';
import { BranchSwitch } from './branch-switch.js';
import { CopyButton } from './copy-button.js';
import { ToolUseView } from './tool-use-view.js';

/** The model's answer: folded reasoning, tools, text, and statistics. */
export function AnswerView({ message }: { readonly message: AssistantMessage }) {
  const isStreaming = message.status === 'streaming';
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
      {message.status === 'stopped' && <p class="hint">Stopped.</p>}
      {message.status === 'length' && (
        <p class="hint">The answer reached its maximum length. You can raise it under Settings.</p>
      )}
      {message.error && (
        <p class="error" role="alert">
          {message.error}
        </p>
      )}
      {!isStreaming && (
        <div class="message-bar">
          <BranchSwitch id={message.id} />
          <button
            type="button"
            class="quiet"
            disabled={isAnswering.value}
            onClick={() => regenerate(message.parentId)}
          >
            Regenerate
          </button>
          <CopyButton text={() => answerText(message)} />
          {message.statistics && <Cost statistics={message.statistics} />}
        </div>
      )}
    </article>
  );
}

function RoundView({ round, isStreaming }: { readonly round: Round; readonly isStreaming: boolean }) {
  const { reasoning, text, toolUses } = round;
  const isThinking = isStreaming && text === '' && toolUses.length === 0;
  return (
    <>
      {reasoning !== '' && (
        <details class="reasoning">
          <summary>{isThinking ? 'Thinking…' : 'Thoughts'}</summary>
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
