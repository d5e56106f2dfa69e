export { AudioEncoderStream } from './audio-encoder-stream.js';
export { AudioModel, type EncodeSoundOptions } from './audio-model.js';
export type { AudioModelOptions, AudioModelSettings } from './audio-model-options.js';
export type { AudioBytes, AudioSource, PcmAudio } from './decode/audio-source.js';
export type { PcmFormat } from './decode/chunks/pcm-decoder.js';
export type { PcmEncoding } from './decode/chunks/pcm-encoding.js';
export { type DecodeOptions, type DecodeProgress, decodeAudio } from './decode/decode-audio.js';
export type { SamplePiece } from './decode/sound-decoder.js';
export type { EncodedSegment } from './encoded-segment.js';
export type { AudioFeatures, FrameFeatures, MelFeatures } from './features/audio-features.js';
export { extractFeatures } from './features/extract-features.js';
export { logMel } from './features/log-mel.js';
export { MelStream } from './features/mel-stream.js';
export { sampleFrames } from './features/sample-frames.js';
export {
  attentionReach,
  type EncoderConfig,
  encoderConfig,
  type FrameEncoderConfig,
  type TowerEncoderConfig,
} from './model/config.js';
export { Resampler, SAMPLE_RATE_LIMITS } from './resample/resampler.js';
export type { AudioSegment } from './segment/segment.js';
export type { SegmentOptions } from './segment/segment-options.js';
export { Segmenter } from './segment/segmenter.js';
export { splitAudio } from './segment/split-audio.js';
export { AudioStream, type AudioStreamOptions } from './stream/audio-stream.js';
export { readAudio, readMono } from './stream/read-mono.js';
export { type ReadSegmentsOptions, readSegments } from './stream/read-segments.js';
export { type AudioVerification, type VerifyAudioOptions, verifyAudio } from './verify/verify-audio.js';
