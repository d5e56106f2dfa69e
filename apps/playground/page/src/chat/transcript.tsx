import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { pathOf } from '../conversation/conversation.js';
import { conversation, currentId } from '../conversation/current.js';
import { sentCount } from './actions.js';
import { AnswerView } from './answer-view.js';
import { announcement } from './answering.js';
import { QuestionView } from './question-view.js';
import { Welcome } from './welcome.js';

/** At most this far from the end, the reader follows the answer. */
const END_PIXELS = 24;
/** From this distance on, a button leads back to the end. */
const FAR_PIXELS = 120;

/** The conversation, from the first message to the last. */
export function Transcript() {
  const place = useRef<HTMLElement>(null);
  const column = useRef<HTMLDivElement>(null);
  const isFollowing = useRef(true);
  const lastTop = useRef(0);
  const isFar = useSignal(false);
  const path = pathOf(conversation.value);
  const toEnd = () => {
    isFollowing.current = true;
    // An empty conversation is read from its beginning.
    const isEmpty = pathOf(conversation.peek()).length === 0;
    place.current!.scrollTop = isEmpty ? 0 : place.current!.scrollHeight;
  };
  const look = () => {
    const { scrollTop, scrollHeight, clientHeight } = place.current!;
    const distance = scrollHeight - scrollTop - clientHeight;
    // Only the reader scrolls up. Text that grows below leaves the position as it is.
    if (scrollTop < lastTop.current && distance > END_PIXELS) isFollowing.current = false;
    else if (distance <= END_PIXELS) isFollowing.current = true;
    lastTop.current = scrollTop;
    isFar.value = !isFollowing.current && distance > FAR_PIXELS;
  };
  useEffect(() => {
    const observer = new ResizeObserver(() => {
      if (isFollowing.current) toEnd();
      look();
    });
    observer.observe(column.current!);
    observer.observe(place.current!);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(toEnd, [currentId.value, sentCount.value]);
  return (
    <>
      <main
        ref={place}
        class="transcript"
        // A scrollable region must be reachable with the keyboard.
        // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
        tabIndex={0}
        aria-label="Conversation"
        onScroll={look}
      >
        <div class="column" ref={column}>
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
      {isFar.value && (
        <button type="button" class="latest" onClick={toEnd}>
          Latest ↓
        </button>
      )}
    </>
  );
}
