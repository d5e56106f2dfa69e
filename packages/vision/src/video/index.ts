// From a video to prepared frames with their times. Nothing here needs a device.
export {
  type FrameOptions,
  type PreparedFrame,
  readVideo,
  type SampledFrames,
  type VideoInput,
  type VideoOptions,
  videoFrames,
} from './read-video.js';
export type { DecodedFrame } from './video-frame.js';
