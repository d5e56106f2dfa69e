export type { VerifyReport, VerifySection } from '@markbase/loader';
export * from './chat/index.js';
export type { ResponseFormat, ToolChoice } from './constraint/answer-grammar.js';
export { describeSchema, type SchemaDescription } from './constraint/describe-schema.js';
export type { GrammarLimits } from './constraint/grammar-budget.js';
export type { JsonSchema } from './constraint/schema/json-schema.js';
export type { Choice } from './engine/choice.js';
export type { Advance, DecodeRow, StepOptions } from './engine/decode-queue.js';
export type { ModelActivity } from './engine/model-activity.js';
export type { PrefillOptions } from './engine/prefill-queue.js';
export type { PrefillJob } from './engine/prefill-step.js';
export type { MediaSpan, PositionKey, Prompt, PromptRows } from './engine/prompt.js';
export type { Sequence } from './engine/sequence.js';
export type {
  SavedPrefixesOptions,
  SpeculationOptions,
  TextModelOptions,
  TextModelSettings,
} from './engine/text-model-options.js';
export type {
  Finish,
  FinishReason,
  GeneratedToken,
  GeneratedToolCall,
  GenerateEvent,
  GenerateResult,
  Timings,
  TokenPart,
  Usage,
} from './generation/events.js';
export { expandMedia, type SoftTokensPart, type VideoPart } from './generation/expand-media.js';
export { type BatchEvent, generate, generateBatch, stream, streamBatch } from './generation/generate.js';
export type { GenerateOptions } from './generation/generate-options.js';
export {
  type AudioEncoding,
  encodeVideoParts,
  type ImageEncoding,
  type MediaEncoder,
  type VideoEncoding,
} from './generation/media-encoder.js';
export { type OpenAnswer, openAnswer, openAnswers } from './generation/open-answer.js';
export { Session, type SessionOptions, type TurnOptions } from './generation/session.js';
export type { TokenConstraint } from './generation/token-constraint.js';
export type { SamplingOptions, TokenOptions } from './generation/token-options.js';
export { type Language, loadLanguage } from './language.js';
export { loadTextModel } from './load-text-model.js';
export { type DecoderConfig, decoderConfig, type PlaceholderIds } from './model/config.js';
export type { RestoredConversation, SavedConversation } from './saved/saved-caches.js';
export type { Draft, DraftToken, Future } from './speculation/draft.js';
export type { DraftRequest, DraftSource, GuessedAnswer, RunProgram } from './speculation/draft-source.js';
export { findAssistant } from './speculation/find-assistant.js';
export { TextModel } from './text-model.js';
export * from './tokenizer/index.js';
export type { VerifyEncoder } from './verify/context.js';
export { type VerifyOptions, type VerifyProgress, verifyCheckpoint } from './verify.js';
