export type {
  AnswerOptions,
  RunToolsOptions,
  RunToolsResult,
  ValueOptions,
  ValueResult,
} from './answer-options.js';
export { GemmaModel } from './gemma-model.js';
export { type LoadOptions, load } from './load.js';
export { checkpointFolder } from './loading/checkpoint-folder.js';
export { type LoadProgress, progressLine } from './loading/progress-line.js';
export { arrangeParts } from './media/arrange-parts.js';
export { type EncodeContext, encodeMessages, encodeParts } from './media/encode-messages.js';
export {
  loadServedMedia,
  MediaEncoders,
  type MediaEncodersOptions,
  type ServedMedia,
  type ServedMediaOptions,
} from './media/media-encoders.js';
export type { MediaSource } from './media/media-source.js';
export type { AudioPart, ImagePart, Input, Message, MessagePart, VideoPart } from './media/message.js';
export type { AnswerSchema, StandardSchema } from './schema/answer-schema.js';
export { InvalidAnswerError } from './schema/invalid-answer-error.js';
export type { ToolRun } from './tools/run-calls.js';
export {
  type NestedDescription,
  type Tool,
  type ToolCode,
  type ToolDescription,
  type ToolWork,
  tool,
} from './tools/tool.js';
export {
  type TranscribedSegment,
  type TranscribeSegmentsOptions,
  transcribeSegments,
} from './transcription/transcribe-segments.js';
export type { TranscribeOptions, Transcription } from './transcription/transcription.js';
export {
  TRANSCRIPTION_INSTRUCTION,
  TRANSCRIPTION_MAX_TOKENS,
  transcriptionInstruction,
} from './transcription/transcription-instruction.js';
