import { InvalidArgumentError } from '@markbase/core';
import { EventLoopSlice } from '../tokenizer/event-loop-slice.js';
import type { Tokenizer } from '../tokenizer/index.js';
import type { ChatMessage, ChatOptions, MediaKind } from './chat-message.js';
import type { ChatTemplate } from './chat-template.js';
import { type ContinuedAnswer, fitMessages } from './fit-messages.js';
import { checkLeastTokens } from './least-tokens.js';
import { normalizeMessages } from './normalize-messages.js';
import { normalizeTools } from './normalize-tools.js';
import { openTurn } from './open-turn.js';
import { renderBeside } from './render-beside.js';
import type { TemplateInput } from './template-input.js';
import { TextMarker } from './text-marker.js';

/** Larger inputs are rendered in a worker thread, which takes 50 ms to start. */
const MANY_MESSAGES = 48;
const MANY_VALUES = 2000;
const MANY_UNITS = 250_000;

const MEDIA_KIND_OF_TEXT: ReadonlyMap<string, MediaKind> = new Map([
  ['<|image|>', 'image'],
  ['<|audio|>', 'audio'],
  ['<|video|>', 'video'],
]);

/** A piece of a rendered conversation: a control token that the template wrote, or text, which never contains one. */
export type ChatSegment =
  | { readonly kind: 'control'; readonly id: number; readonly text: string }
  | { readonly kind: 'text'; readonly text: string };

/** Where an image, a sound or a video goes. */
export interface MediaPlaceholder {
  /** Kind of the medium. */
  readonly kind: MediaKind;
  /** Index in `ids` of the single placeholder token, which is to be replaced by as many tokens as the medium needs. */
  readonly tokenIndex: number;
}

/** A conversation as token ids. */
export interface EncodedChat {
  /** Token ids of the prompt, one placeholder per medium. */
  readonly ids: number[];
  /** One entry per media part of the messages, in order. */
  readonly media: MediaPlaceholder[];
  /** True if the prompt ends inside an open thought: the answer then begins with reasoning. */
  readonly isReasoningOpen: boolean;
  /** True if the answer continues a final assistant message. */
  readonly isContinued: boolean;
}

/**
 * Renders a conversation. Only the template can write control tokens: anything in a message, a name, an argument, a
 * tool result or a tool definition that looks like one is text. The prompt begins with exactly one `<bos>`.
 *
 * With a generation prompt, the answer continues a final assistant message, exactly after its last character.
 *
 * Errors: InvalidArgumentError for invalid messages or tools, and if the template drops media, tools, tool calls or tool
 * results; ChatTemplateError when the template refuses the conversation.
 */
export function renderChat(
  tokenizer: Tokenizer,
  template: ChatTemplate,
  messages: readonly ChatMessage[],
  options: ChatOptions = {},
): ChatSegment[] {
  const chat = new RenderedChat(tokenizer, template, messages, options);
  return chat.segments(template.render(chat.input));
}

/** Renders and encodes a conversation. Errors: those of `renderChat`. */
export function encodeChat(
  tokenizer: Tokenizer,
  template: ChatTemplate,
  messages: readonly ChatMessage[],
  options: ChatOptions = {},
): EncodedChat {
  const encoded = new ChatTokens(isContinued(messages, options));
  for (const segment of renderChat(tokenizer, template, messages, options)) {
    if (segment.kind === 'text') encoded.pushIds(tokenizer.encode(segment.text));
    else encoded.pushControl(segment);
  }
  return encoded;
}

/** Options of `encodeChatInSlices`. */
export interface EncodeInSlicesOptions {
  /** Size of the context: a longer prompt is refused as soon as that is certain. */
  readonly contextTokens: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Like `encodeChat`, but does not block the event loop: large conversations are rendered in a worker thread and encoded in
 * slices. Errors: also ContextLengthError and those of `renderBeside`.
 */
export async function encodeChatInSlices(
  tokenizer: Tokenizer,
  template: ChatTemplate,
  messages: readonly ChatMessage[],
  options: ChatOptions,
  { contextTokens, signal }: EncodeInSlicesOptions,
): Promise<EncodedChat> {
  const chat = new RenderedChat(tokenizer, template, messages, options);
  const { input } = chat;
  const rendered = isLarge(input) ? await renderBeside(template, input, signal) : template.render(input);
  const segments = chat.segments(rendered);
  const units = segments.reduce((sum, { kind, text }) => sum + (kind === 'text' ? text.length : 0), 0);
  checkLeastTokens(Math.floor(units / (tokenizer.longestTokenUnits ?? Infinity)), contextTokens);
  const slice = new EventLoopSlice(signal);
  const encoded = new ChatTokens(isContinued(messages, options));
  for (const segment of segments) {
    if (segment.kind === 'text') encoded.pushIds(await tokenizer.encodeInSlices(segment.text, slice));
    else encoded.pushControl(segment);
  }
  return encoded;
}

/** Input and output of a template for one conversation. */
class RenderedChat {
  readonly input: TemplateInput;
  readonly #tokenizer: Tokenizer;
  readonly #template: ChatTemplate;
  readonly #media: readonly MediaKind[];
  readonly #marker: TextMarker;
  readonly #continued: ContinuedAnswer | null;

  constructor(
    tokenizer: Tokenizer,
    template: ChatTemplate,
    messages: readonly ChatMessage[],
    options: ChatOptions,
  ) {
    const normalized = normalizeMessages(messages);
    const tools = normalizeTools(options.tools);
    const { addGenerationPrompt = true, enableThinking = false, preserveThinking = false } = options;
    const { conversation, continued } = fitMessages(normalized.messages, tools, {
      abilities: template.abilities,
      addGenerationPrompt,
    });
    const marker = new TextMarker([conversation, continued, tools], tokenizer.specialFirstCharacters);
    this.#tokenizer = tokenizer;
    this.#template = template;
    this.#media = normalized.media;
    this.#marker = marker;
    this.#continued = marker.apply(continued);
    this.input = {
      messages: marker.apply(conversation),
      tools: marker.apply(tools),
      add_generation_prompt: addGenerationPrompt,
      enable_thinking: enableThinking,
      preserve_thinking: preserveThinking,
    };
  }

  /** Cuts the output of the template into segments. */
  segments(text: string): ChatSegment[] {
    const { input } = this;
    const template = this.#template;
    const rendered = input.add_generation_prompt ? openTurn(text, template, input, this.#continued) : text;
    const segments: ChatSegment[] = [];
    for (const { id, text } of this.#tokenizer.splitSpecial(rendered)) {
      const plain = this.#marker.remove(text);
      if (id !== null) segments.push({ kind: 'control', id, text });
      else if (plain !== '') segments.push({ kind: 'text', text: plain });
    }
    checkMedia(segments, this.#media);
    return withBos(segments, this.#tokenizer, template.bosToken);
  }
}

/** Collects the tokens of a conversation. */
class ChatTokens implements EncodedChat {
  readonly ids: number[] = [];
  readonly media: MediaPlaceholder[] = [];
  readonly isContinued: boolean;
  isReasoningOpen = false;

  constructor(isContinued: boolean) {
    this.isContinued = isContinued;
  }

  pushIds(ids: Int32Array): void {
    for (const id of ids) this.ids.push(id);
  }

  pushControl({ id, text }: { readonly id: number; readonly text: string }): void {
    const kind = MEDIA_KIND_OF_TEXT.get(text);
    if (kind !== undefined) this.media.push({ kind, tokenIndex: this.ids.length });
    if (text === '<|channel>') this.isReasoningOpen = true;
    if (text === '<channel|>') this.isReasoningOpen = false;
    this.ids.push(id);
  }
}

/** True if rendering the input takes more than a few milliseconds. */
function isLarge({ messages, tools }: TemplateInput): boolean {
  if (messages.length > MANY_MESSAGES) return true;
  let values = 0;
  let units = 0;
  const stack: unknown[] = [messages, tools];
  while (stack.length > 0) {
    const value = stack.pop();
    if (typeof value === 'string') units += value.length;
    else if (typeof value === 'object' && value !== null) {
      for (const child of Object.values(value)) stack.push(child);
    }
    if (++values + stack.length > MANY_VALUES || units > MANY_UNITS) return true;
  }
  return false;
}

function isContinued(messages: readonly ChatMessage[], { addGenerationPrompt = true }: ChatOptions): boolean {
  const last = messages.at(-1)!;
  return addGenerationPrompt && last.role === 'assistant' && (last.content?.length ?? 0) !== 0;
}

function checkMedia(segments: readonly ChatSegment[], expected: readonly MediaKind[]): void {
  const found = segments.flatMap((segment) =>
    segment.kind === 'control' ? (MEDIA_KIND_OF_TEXT.get(segment.text) ?? []) : [],
  );
  if (found.join() === expected.join()) return;
  throw new InvalidArgumentError({
    argument: 'messages',
    expected:
      'a chat template and a vocabulary with a placeholder for each medium, in the order of the messages',
    received: `media ${expected.join(', ') || 'none'}; placeholders ${found.join(', ') || 'none'}`,
    hint: 'Put images, audio and video into user messages',
  });
}

function withBos(segments: ChatSegment[], tokenizer: Tokenizer, bosToken: string): ChatSegment[] {
  const first = segments[0];
  const bos = tokenizer.idOf(bosToken);
  if (bos === null || (first?.kind === 'control' && first.id === bos)) return segments;
  return [{ kind: 'control', id: bos, text: bosToken }, ...segments];
}
