import { InvalidArgumentError } from '@markbase/core';
import type { Tokenizer } from '../tokenizer/index.js';
import type { ChatMessage, ChatOptions, MediaKind } from './chat-message.js';
import type { ChatTemplate } from './chat-template.js';
import { fitMessages } from './fit-messages.js';
import { normalizeMessages } from './normalize-messages.js';
import { normalizeTools } from './normalize-tools.js';
import { openTurn } from './open-turn.js';
import { TextMarker } from './text-marker.js';

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
  readonly kind: MediaKind;
  /** Index in `ids` of the single placeholder token, which is to be replaced by as many tokens as the medium needs. */
  readonly tokenIndex: number;
}

/** A conversation as token ids. */
export interface EncodedChat {
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
  const normalized = normalizeMessages(messages);
  const tools = normalizeTools(options.tools);
  const { addGenerationPrompt = true, enableThinking = false, preserveThinking = false } = options;
  const { conversation, continued } = fitMessages(normalized.messages, tools, {
    abilities: template.abilities,
    addGenerationPrompt,
  });
  const marker = new TextMarker([conversation, continued, tools], tokenizer.specialFirstCharacters);
  const input = {
    messages: marker.apply(conversation),
    tools: marker.apply(tools),
    add_generation_prompt: addGenerationPrompt,
    enable_thinking: enableThinking,
    preserve_thinking: preserveThinking,
  };
  const text = template.render(input);
  const rendered = addGenerationPrompt ? openTurn(text, template, input, marker.apply(continued)) : text;
  const segments: ChatSegment[] = [];
  for (const { id, text } of tokenizer.splitSpecial(rendered)) {
    const plain = marker.remove(text);
    if (id !== null) segments.push({ kind: 'control', id, text });
    else if (plain !== '') segments.push({ kind: 'text', text: plain });
  }
  checkMedia(segments, normalized.media);
  return withBos(segments, tokenizer, template.bosToken);
}

/** Renders and encodes a conversation. Errors: those of `renderChat`. */
export function encodeChat(
  tokenizer: Tokenizer,
  template: ChatTemplate,
  messages: readonly ChatMessage[],
  options: ChatOptions = {},
): EncodedChat {
  const ids: number[] = [];
  const media: MediaPlaceholder[] = [];
  let isReasoningOpen = false;
  for (const segment of renderChat(tokenizer, template, messages, options)) {
    if (segment.kind === 'text') {
      for (const id of tokenizer.encode(segment.text)) ids.push(id);
      continue;
    }
    const kind = MEDIA_KIND_OF_TEXT.get(segment.text);
    if (kind !== undefined) media.push({ kind, tokenIndex: ids.length });
    if (segment.text === '<|channel>') isReasoningOpen = true;
    if (segment.text === '<channel|>') isReasoningOpen = false;
    ids.push(segment.id);
  }
  return { ids, media, isReasoningOpen, isContinued: isContinued(messages, options) };
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
