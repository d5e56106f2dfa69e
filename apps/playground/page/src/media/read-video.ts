import type { VideoAttachment, VideoFrame } from './attachment.js';
import { drawn } from './read-image.js';
import { FRAME_BUDGET } from './token-count.js';

/** Maximum number of frames per video. */
const MOST_FRAMES = 32;
/** A higher rate would not show a model anything new. */
const FRAMES_PER_SECOND = 2;
/** A frame has a budget of 70 soft tokens, about 400 by 400 pixels. */
const LONGEST_SIDE = 512;
/** Delimiters of a frame, and its time. */
const FRAME_TEXT_TOKENS = 10;
/** Share of the context that frames may take; the rest is for text, sound and the answer. */
const CONTEXT_SHARE = 0.75;

/**
 * Takes up to 32 evenly spaced frames from a video, and not more than fit the context.
 *
 * @param contextTokens of the model; null if none is loaded
 * @throws TypeError if the browser cannot play it
 */
export async function readVideo(file: File, contextTokens: number | null): Promise<VideoAttachment> {
  const url = URL.createObjectURL(file);
  const video = document.createElement('video');
  video.muted = true;
  video.preload = 'auto';
  video.src = url;
  try {
    await happened(video, 'loadeddata', file.name);
    const { videoWidth, videoHeight, duration } = video;
    const seconds = Number.isFinite(duration) ? duration : 0;
    const scale = Math.min(1, LONGEST_SIDE / Math.max(videoWidth, videoHeight));
    const width = Math.max(1, Math.round(videoWidth * scale));
    const height = Math.max(1, Math.round(videoHeight * scale));
    const wanted = Math.max(1, Math.min(MOST_FRAMES, Math.floor(seconds * FRAMES_PER_SECOND)));
    const count = Math.min(wanted, fittingFrames(contextTokens));
    const frames: VideoFrame[] = [];
    for (let index = 0; index < count; index++) {
      const timestampSeconds = (index * seconds) / count;
      if (index > 0) {
        const arrived = happened(video, 'seeked', file.name);
        video.currentTime = timestampSeconds;
        await arrived;
      }
      frames.push({ url: drawn(video, width, height, 'image/jpeg'), timestampSeconds });
    }
    return {
      kind: 'video',
      id: crypto.randomUUID(),
      name: file.name,
      width,
      height,
      seconds,
      frames,
      ...(count < wanted && { isCutToFit: true }),
    };
  } finally {
    video.removeAttribute('src');
    URL.revokeObjectURL(url);
  }
}

/** Frames that fit next to a question and its answer. */
function fittingFrames(contextTokens: number | null): number {
  if (contextTokens === null) return MOST_FRAMES;
  return Math.max(1, Math.floor((contextTokens * CONTEXT_SHARE) / (FRAME_BUDGET + FRAME_TEXT_TOKENS)));
}

function happened(video: HTMLVideoElement, event: 'loadeddata' | 'seeked', name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    video.addEventListener(event, () => resolve(), { once: true });
    video.addEventListener(
      'error',
      () => reject(new TypeError(`The browser cannot play ${name}. Use MP4 or WebM.`)),
      { once: true },
    );
  });
}
