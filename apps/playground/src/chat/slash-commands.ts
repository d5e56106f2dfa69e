import { readFile, writeFile } from 'node:fs/promises';
import { InvalidArgumentError } from '@markbase/core';
import type { ChatMessage } from '@markbase/text';
import type { ChatSettings, ChatState } from './chat-state.js';

/** What a command leads to. */
export interface CommandOutcome {
  /** Shown to the person. */
  readonly text?: string;
  /** A message to answer now. */
  readonly ask?: ChatMessage;
  readonly isEnd?: boolean;
}

/** A command that begins with a slash. */
export interface SlashCommand {
  readonly usage: string;
  readonly description: string;
  run(chat: ChatState, argument: string, signal: AbortSignal): CommandOutcome | Promise<CommandOutcome>;
}

/** Names that `/set` knows, as a person types them. */
const SETTINGS: Readonly<Record<string, keyof ChatSettings>> = {
  temperature: 'temperature',
  'top-k': 'topK',
  'top-p': 'topP',
  'min-p': 'minP',
  'repetition-penalty': 'repetitionPenalty',
  'presence-penalty': 'presencePenalty',
  'frequency-penalty': 'frequencyPenalty',
  'max-tokens': 'maxTokens',
  seed: 'seed',
};

/** All commands by name. */
export const SLASH_COMMANDS: Readonly<Record<string, SlashCommand>> = {
  help: {
    usage: '/help',
    description: 'this list',
    run: () => ({ text: helpText() }),
  },
  image: mediaCommand('image', 'a picture'),
  audio: mediaCommand('audio', 'a sound'),
  video: mediaCommand('video', 'a video'),
  system: {
    usage: '/system [TEXT]',
    description: 'what the system says first; without a text, shows it',
    run(chat, text) {
      if (text === '') return { text: chat.system === '' ? 'there is no system prompt' : chat.system };
      chat.system = text;
      return { text: 'the system prompt counts from the next answer on' };
    },
  },
  think: {
    usage: '/think on|off',
    description: 'whether the model thinks before it answers',
    run(chat, word) {
      if (word !== 'on' && word !== 'off') throw wrong('/think', 'on or off', word);
      chat.settings = { ...chat.settings, enableThinking: word === 'on' };
      return { text: `thinking is ${word}` };
    },
  },
  set: {
    usage: '/set NAME VALUE',
    description: `one of ${Object.keys(SETTINGS).join(', ')}; "default" takes it back`,
    run: (chat, argument) => ({ text: set(chat, argument) }),
  },
  retry: {
    usage: '/retry',
    description: 'answers the last question once more',
    run(chat) {
      const ask = chat.undo();
      return ask ? { ask } : { text: 'nothing was asked yet' };
    },
  },
  undo: {
    usage: '/undo',
    description: 'takes back the last question and its answer',
    run: (chat) => ({ text: chat.undo() ? 'taken back' : 'nothing was asked yet' }),
  },
  clear: {
    usage: '/clear',
    description: 'begins a new conversation',
    run(chat) {
      chat.restart();
      return { text: 'a new conversation' };
    },
  },
  stats: {
    usage: '/stats',
    description: 'what the last answer cost',
    run: (chat) => ({ text: statistics(chat) }),
  },
  save: {
    usage: '/save FILE',
    description: 'writes the conversation as JSON; media are left out',
    async run(chat, path) {
      if (path === '') throw wrong('/save', 'the name of a file', path);
      await writeFile(
        path,
        `${JSON.stringify({ system: chat.system, messages: chat.messages.map(textOnly) }, null, 2)}\n`,
      );
      return { text: `saved to ${path}` };
    },
  },
  load: {
    usage: '/load FILE',
    description: 'goes on with a conversation that /save wrote',
    async run(chat, path) {
      if (path === '') throw wrong('/load', 'the name of a file', path);
      const { system, messages } = conversationOf(await readFile(path, 'utf8'), path);
      chat.restart(messages);
      chat.system = system;
      return { text: `${messages.length} messages from ${path}` };
    },
  },
  quit: {
    usage: '/quit',
    description: 'ends the chat, as Ctrl-D does',
    run: () => ({ isEnd: true }),
  },
};

/**
 * Runs a line that begins with a slash.
 *
 * @throws InvalidArgumentError for an unknown command or a wrong argument
 */
export async function runSlashCommand(
  chat: ChatState,
  line: string,
  signal: AbortSignal,
): Promise<CommandOutcome> {
  const [, name = '', argument = ''] = /^\/(\S*)\s*(.*)$/s.exec(line.trim()) ?? [];
  const command = Object.hasOwn(SLASH_COMMANDS, name) ? SLASH_COMMANDS[name] : undefined;
  if (!command) throw wrong('command', 'one of those that /help lists', `/${name}`);
  return command.run(chat, argument, signal);
}

function mediaCommand(kind: 'image' | 'audio' | 'video', what: string): SlashCommand {
  return {
    usage: `/${kind} FILE`,
    description: `${what} for the next message`,
    async run(chat, path, signal) {
      if (path === '') throw wrong(`/${kind}`, 'the name of a file', path);
      const parts = await chat.readMedia(kind, path, signal);
      chat.pending.push({ name: path, parts });
      return { text: `${path} goes with the next message` };
    },
  };
}

function helpText(): string {
  const lines = Object.values(SLASH_COMMANDS).map(
    ({ usage, description }) => `${usage.padEnd(18)} ${description}`,
  );
  return [
    ...lines,
    'Ctrl-C stops an answer; twice in a row, it ends the chat. A line that ends with \\ goes on.',
  ].join('\n');
}

function set(chat: ChatState, argument: string): string {
  const [name = '', text = ''] = argument.split(/\s+/);
  const key = Object.hasOwn(SETTINGS, name) ? SETTINGS[name] : undefined;
  if (!key) throw wrong('/set', `one of ${Object.keys(SETTINGS).join(', ')}`, name);
  if (text === 'default') {
    const { [key]: _, ...rest } = chat.settings;
    chat.settings = rest;
    return `${name} is left to the checkpoint`;
  }
  const value = text === '' ? Number.NaN : Number(text);
  if (!Number.isFinite(value)) throw wrong(`/set ${name}`, 'a number, or "default"', text);
  chat.settings = { ...chat.settings, [key]: value };
  return `${name} is ${value}`;
}

function statistics({ last, model }: ChatState): string {
  if (!last) return 'nothing was answered yet';
  const { usage, timings, seed } = last;
  const seconds = (timings.totalMs - timings.firstTokenMs) / 1000;
  const rate = seconds > 0 ? ((usage.completionTokens - 1) / seconds).toFixed(1) : '–';
  return (
    `${usage.promptTokens} tokens in (${usage.cachedTokens} remembered), ${usage.completionTokens} out; first after ` +
    `${timings.firstTokenMs.toFixed(0)} ms, ${rate} a second; ${usage.promptTokens + usage.completionTokens} of ` +
    `${model.settings.contextTokens} tokens of context; seed ${seed}`
  );
}

function textOnly(message: ChatMessage): ChatMessage {
  const { content } = message;
  if (!Array.isArray(content)) return message;
  const texts = content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`));
  return { ...message, content: texts.join(' ') };
}

function conversationOf(text: string, path: string): { system: string; messages: ChatMessage[] } {
  const fail = (): never => {
    throw wrong('/load', 'a file that /save wrote', path);
  };
  try {
    const { system, messages } = JSON.parse(text) as { system: unknown; messages: unknown };
    if (typeof system !== 'string' || !Array.isArray(messages) || !messages.every(isTextMessage))
      return fail();
    return { system, messages };
  } catch {
    return fail();
  }
}

function isTextMessage(value: unknown): value is ChatMessage {
  const { role, content } = (value ?? {}) as Partial<ChatMessage>;
  return (role === 'user' || role === 'assistant') && typeof content === 'string';
}

function wrong(argument: string, expected: string, received: string): InvalidArgumentError {
  return new InvalidArgumentError({ argument, expected, received });
}
