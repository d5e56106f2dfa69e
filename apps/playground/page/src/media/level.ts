import { signal } from '@preact/signals';

/** Loudness of the microphone while recording, 0 to 1. */
export const recordingLevel = signal(0);

const LOOK_MS = 100;
/** Quieter than this counts as silence. */
const SILENCE_DB = -60;

/** Follows the loudness of a stream. @returns a function that ends it */
export function followLevel(stream: MediaStream): () => void {
  const context = new AudioContext();
  const analyser = context.createAnalyser();
  context.createMediaStreamSource(stream).connect(analyser);
  const samples = new Float32Array(analyser.fftSize);
  const timer = setInterval(() => {
    analyser.getFloatTimeDomainData(samples);
    recordingLevel.value = levelOf(samples);
  }, LOOK_MS);
  return () => {
    clearInterval(timer);
    recordingLevel.value = 0;
    void context.close();
  };
}

/** Loudness of samples on a logarithmic scale: 0 = at most -60 dB, 1 = full scale. */
export function levelOf(samples: Float32Array): number {
  const power = samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length;
  const decibels = 10 * Math.log10(Math.max(power, 1e-12));
  return Math.min(1, Math.max(0, 1 - decibels / SILENCE_DB));
}
