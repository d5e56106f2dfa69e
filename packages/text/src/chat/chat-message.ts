/** The speaker of a message. `developer` means the same as `system`; `tool` carries the result of a call. */
export type ChatRole = 'user' | 'assistant' | 'system' | 'developer' | 'tool';

/** Kinds of media in a prompt. */
export type MediaKind = 'image' | 'audio' | 'video';

/** Text of a message. */
export interface TextPart {
  readonly type: 'text';
  /** The text, in which nothing is a control token. */
  readonly text: string;
}

/** Stands for an image, a sound or a video. Further fields belong to the caller and are ignored here. */
export interface MediaPart {
  /** Kind of the medium. */
  readonly type: MediaKind;
  readonly [field: string]: unknown;
}

/** A part of a message. */
export type ContentPart = TextPart | MediaPart;

/** A tool call made by the model. */
export interface ToolCall {
  /** Links a `tool` message to this call. */
  readonly id?: string;
  /** Name of the tool. */
  readonly name: string;
  /** An object or its JSON text. Numbers that JavaScript would round may be ExactNumbers or bigints, or stay in the text. */
  readonly arguments: Readonly<Record<string, unknown>> | string;
}

/** One message of a conversation. */
export interface ChatMessage {
  /** The speaker. */
  readonly role: ChatRole;
  /** Text or parts. Role `tool` also takes an object with the fields of the result, which models read best. */
  readonly content?: string | readonly ContentPart[] | Readonly<Record<string, unknown>> | null;
  /** What the model thought before it answered (role `assistant`). */
  readonly reasoning?: string | null;
  /** Tool calls made by the model (role `assistant`). */
  readonly toolCalls?: readonly ToolCall[] | null;
  /** The id of the call that this is the result of (role `tool`). */
  readonly toolCallId?: string | null;
  /** Name of the tool (role `tool`), if there is no `toolCallId`. */
  readonly name?: string | null;
}

/** A tool that the model may call, in OpenAI's format. */
export interface ToolDefinition {
  readonly type: 'function';
  /** The function that the tool calls. */
  readonly function: {
    /** Letters, digits and `_ . : -`, at most 128 characters. */
    readonly name: string;
    /** What the tool does, for the model. */
    readonly description?: string | null;
    /** JSON schema of the arguments. */
    readonly parameters?: Readonly<Record<string, unknown>> | null;
    /** JSON schema of the result. */
    readonly response?: Readonly<Record<string, unknown>> | null;
    /** True: calls follow the schema of the parameters exactly. */
    readonly strict?: boolean | null;
  };
}

/** How a conversation is turned into a prompt. */
export interface ChatOptions {
  /** Tools that the model may call; null = none. */
  readonly tools?: readonly ToolDefinition[] | null;
  /** Ends the prompt where the model is to continue; true by default. A final assistant message is then continued. */
  readonly addGenerationPrompt?: boolean;
  /** Lets the model think before it answers; false by default. */
  readonly enableThinking?: boolean;
  /** Keeps the reasoning of older messages with tool calls in the prompt; false by default. */
  readonly preserveThinking?: boolean;
}
