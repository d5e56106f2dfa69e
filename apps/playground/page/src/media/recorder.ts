import { signal } from '@preact/signals';
import { addAttachment, attachmentError } from './attachments.js';
import { followLevel } from './level.js';
import { readAudio } from './read-audio.js';

/** Length of the current recording in seconds; null if there is none. */
export const recordingSeconds = signal<number | null>(null);

/** Longest sound that the model accepts in one piece. */
const LONGEST_SECONDS = 30;

let recorder: MediaRecorder | null = null;
let attached: Promise<void> = Promise.resolve();

/** Ends the recording, if there is one. @returns when its sound is attached */
export async function finishRecording(): Promise<void> {
  if (recorder?.state === 'recording') recorder.stop();
  await attached;
}

/** Records from the microphone until called again, at most 30 s, and attaches the sound. */
export async function toggleRecording(): Promise<void> {
  if (recorder) {
    recorder.stop();
    return;
  }
  let stream: MediaStream;
  try {
    stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  } catch {
    attachmentError.value =
      'The browser denied access to the microphone. Allow it in the address bar, or attach a sound file.';
    return;
  }
  const endLevel = followLevel(stream);
  const pieces: Blob[] = [];
  const startedAt = performance.now();
  const running = new MediaRecorder(stream);
  recorder = running;
  recordingSeconds.value = 0;
  const timer = setInterval(() => {
    recordingSeconds.value = (performance.now() - startedAt) / 1000;
    if (recordingSeconds.value >= LONGEST_SECONDS && running.state === 'recording') running.stop();
  }, 200);
  running.ondataavailable = ({ data }) => pieces.push(data);
  let resolve = () => {};
  attached = new Promise((settle) => {
    resolve = settle;
  });
  running.onstop = () => {
    clearInterval(timer);
    endLevel();
    for (const track of stream.getTracks()) track.stop();
    recorder = null;
    recordingSeconds.value = null;
    const sound = new Blob(pieces, { type: running.mimeType });
    void addAttachment(() => readAudio(sound, 'Recording')).then(resolve);
  };
  running.start();
}
