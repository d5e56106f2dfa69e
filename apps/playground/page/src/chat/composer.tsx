import { useEffect, useRef } from 'preact/hooks';
import { AttachmentList } from '../media/attachment-list.js';
import { attachFiles, readingCount } from '../media/attachments.js';
import { RecordButton } from '../media/record-button.js';
import { loadedModel } from '../model/model-state.js';
import { Icon } from '../shell/icon.js';
import { draft, editLast, send } from './actions.js';
import { isAnswering, stopAnswer } from './answering.js';
import { ContextGauge } from './context-gauge.js';

const TALLEST = 240;

/** The message form: text, files, microphone, send and stop. */
export function Composer() {
  const area = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const element = area.current!;
    element.style.height = 'auto';
    element.style.height = `${Math.min(TALLEST, element.scrollHeight)}px`;
  }, [draft.value]);
  useEffect(() => area.current?.focus(), []);
  const { media } = loadedModel.value ?? {};
  const onKeyDown = (event: KeyboardEvent) => {
    // Input methods use Enter to confirm a word.
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      send();
    } else if (event.key === 'ArrowUp' && draft.value === '') {
      event.preventDefault();
      editLast();
    }
  };
  return (
    <form
      class="composer"
      aria-label="Message"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <div class="composer-box">
        <AttachmentList />
        <textarea
          ref={area}
          id="draft"
          rows={1}
          aria-label="Your message"
          placeholder="Write a message"
          value={draft.value}
          onInput={({ currentTarget }) => {
            draft.value = currentTarget.value;
          }}
          onKeyDown={onKeyDown}
        />
        <div class="composer-bar">
          <input
            ref={picker}
            type="file"
            id="file-picker"
            multiple
            hidden
            onChange={({ currentTarget }) => {
              void attachFiles([...(currentTarget.files ?? [])]);
              currentTarget.value = '';
            }}
          />
          <button
            type="button"
            class="quiet round"
            aria-label="Attach"
            title="Attach files"
            onClick={() => picker.current?.click()}
          >
            <Icon name="attach" />
          </button>
          {(!media || media.audio) && <RecordButton />}
          <span class="grow" />
          <ContextGauge />
          <SendButton />
        </div>
      </div>
    </form>
  );
}

/** Sends the message; while an answer arrives, stops it. */
function SendButton() {
  if (isAnswering.value) {
    return (
      <button
        type="button"
        class="primary round"
        aria-label="Stop"
        title="Stop (Escape)"
        onClick={stopAnswer}
      >
        <Icon name="stop" />
      </button>
    );
  }
  return (
    <button
      type="submit"
      class="primary round"
      aria-label="Send"
      title="Send (Enter)"
      disabled={!loadedModel.value || readingCount.value > 0}
    >
      <Icon name="send" />
    </button>
  );
}
