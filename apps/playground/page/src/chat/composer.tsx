import { useEffect, useRef } from 'preact/hooks';
import { AttachmentList } from '../media/attachment-list.js';
import { attachFiles, readingCount } from '../media/attachments.js';
import { recordingSeconds, toggleRecording } from '../media/recorder.js';
import { loadedModel } from '../model/model-state.js';
import { draft, editLast, send } from './actions.js';
import { isAnswering, stopAnswer } from './answering.js';

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
        onPaste={(event) => {
          const files = event.clipboardData?.files;
          if (!files || files.length === 0) return;
          event.preventDefault();
          void attachFiles([...files]);
        }}
      />
      <div class="composer-bar">
        <input
          ref={picker}
          type="file"
          id="file-picker"
          multiple
          hidden
          accept="image/*,audio/*,video/*"
          onChange={({ currentTarget }) => {
            void attachFiles([...(currentTarget.files ?? [])]);
            currentTarget.value = '';
          }}
        />
        <button type="button" class="quiet" onClick={() => picker.current?.click()}>
          Attach
        </button>
        {(!media || media.audio) && (
          <button
            type="button"
            class="quiet"
            aria-pressed={recordingSeconds.value !== null}
            onClick={() => void toggleRecording()}
          >
            {recordingSeconds.value === null
              ? 'Record'
              : `Stop recording, ${recordingSeconds.value.toFixed(0)} s`}
          </button>
        )}
        <span class="grow" />
        {isAnswering.value ? (
          <button type="button" class="primary" onClick={stopAnswer}>
            Stop
          </button>
        ) : (
          <button type="submit" class="primary" disabled={!loadedModel.value || readingCount.value > 0}>
            Send
          </button>
        )}
      </div>
    </form>
  );
}
