export type {
  ChatMessage,
  ChatOptions,
  ChatRole,
  ContentPart,
  MediaKind,
  MediaPart,
  TextPart,
  ToolCall,
  ToolDefinition,
} from './chat-message.js';
export { ChatTemplate, type ChatTemplateFiles, loadChatTemplate } from './chat-template.js';
export { ChatTemplateError } from './chat-template-error.js';
export {
  type ChatSegment,
  type EncodedChat,
  encodeChat,
  type MediaPlaceholder,
  renderChat,
} from './encode-chat.js';
export { parseExactJson, stringifyExactJson } from './exact-json.js';
export { ExactNumber } from './exact-number.js';
export { type ResponseEvent, ResponseParser } from './response-parser.js';
export { type StopMatch, StopMatcher } from './stop-matcher.js';
export { formatToolCall, type ParsedToolCall, parseToolCall } from './tool-call-syntax.js';
