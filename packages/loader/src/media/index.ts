export {
  AUDIO_SAMPLE_RATE_HZ,
  type AudioTokens,
  audioTokens,
  audioTowerTokens,
  MAX_AUDIO_SAMPLES,
  unifiedAudioTokens,
} from './audio-tokens.js';
export {
  DEFAULT_IMAGE_TOKENS,
  IMAGE_TOKEN_BUDGETS,
  type ImageTokenBudget,
  type ImageTokens,
  imageTokens,
  type PatchGeometry,
  type PixelSize,
} from './image-tokens.js';
export {
  DEFAULT_FRAMES_PER_SECOND,
  DEFAULT_VIDEO_FRAME_TOKENS,
  MAX_VIDEO_FRAMES,
  type VideoSource,
  type VideoTokens,
  videoFrameIndices,
  videoTokens,
} from './video-tokens.js';
