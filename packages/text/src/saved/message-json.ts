import { stringifyExactJson } from '../chat/exact-json.js';
import type { ChatMessage } from '../chat/index.js';

const FLOATS = '$float32';

/** Messages as plain JSON values: soft tokens as text, and arguments of calls as JSON with all digits. */
export function messagesToJson(messages: readonly ChatMessage[]): unknown {
  const plain = messages.map((message) => {
    if (!message.toolCalls) return message;
    const toolCalls = message.toolCalls.map((call) => {
      return typeof call.arguments === 'string'
        ? call
        : { ...call, arguments: stringifyExactJson(call.arguments) };
    });
    return { ...message, toolCalls };
  });
  const text = JSON.stringify(plain, (_key, value: unknown) => {
    if (!(value instanceof Float32Array)) return value;
    return { [FLOATS]: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64') };
  });
  return JSON.parse(text);
}

/** The messages of `messagesToJson`. */
export function messagesFromJson(json: unknown): ChatMessage[] {
  return JSON.parse(JSON.stringify(json), (_key, value: unknown) => {
    const text =
      value !== null && typeof value === 'object' ? (value as { [FLOATS]?: unknown })[FLOATS] : null;
    if (typeof text !== 'string') return value;
    // The pool of small buffers is not aligned.
    const bytes = Uint8Array.from(Buffer.from(text, 'base64'));
    return new Float32Array(bytes.buffer);
  }) as ChatMessage[];
}
