import { useEffect, useRef } from 'preact/hooks';
import { pathOf } from '../conversation/conversation.js';
import { conversation } from '../conversation/current.js';
import { AnswerView } from './answer-view.js';
import { announcement } from './answering.js';
import { QuestionView } from './question-view.js';
import { Welcome } from './welcome.js';

/** Within this distance of the end, new text keeps the end in view. */
const NEAR_END_PIXELS = 80;

/** The conversation, from the first message to the last. */
export function Transcript() {
  const place = useRef<HTMLElement>(null);
  const isAtEnd = useRef(true);
  const path = pathOf(conversation.value);
  useEffect(() => {
    const element = place.current!;
    if (isAtEnd.current) element.scrollTop = element.scrollHeight;
  });
  return (
    <main
      ref={place}
      class="transcript"
      // A scrollable region must be reachable with the keyboard.
      // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
      tabIndex={0}
      aria-label="Conversation"
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR_END_PIXELS;
      }}
    >
      <div class="column">
        {path.length === 0 && <Welcome />}
        {path.map((message) =>
          message.role === 'user' ? (
            <QuestionView key={message.id} message={message} />
          ) : (
            <AnswerView key={message.id} message={message} />
          ),
        )}
      </div>
      <p class="visually-hidden" role="status">
        {announcement.value}
      </p>
    </main>
  );
}
