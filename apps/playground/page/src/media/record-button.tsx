import { Icon } from '../shell/icon.js';
import { recordingLevel } from './level.js';
import { recordingSeconds, toggleRecording } from './recorder.js';

/** Starts and ends a recording; shows its length and how loud it is. */
export function RecordButton() {
  const seconds = recordingSeconds.value;
  const name = seconds === null ? 'Record' : `Stop recording, ${seconds.toFixed(0)} s`;
  return (
    <>
      <button
        type="button"
        class="quiet round"
        aria-label={name}
        title={name}
        aria-pressed={seconds !== null}
        onClick={() => void toggleRecording()}
      >
        <Icon name="microphone" />
      </button>
      {seconds !== null && (
        <>
          {/* The name of the button says it. */}
          <span class="timer" aria-hidden="true">
            0:{seconds.toFixed(0).padStart(2, '0')}
          </span>
          <meter min={0} max={1} value={recordingLevel.value} aria-label="Loudness" />
        </>
      )}
    </>
  );
}
