import { readFile, writeFile } from 'node:fs/promises';
import { InvalidArgumentError } from '@markbase/core';
import type { ChatMessage } from '@markbase/text';
import { homePath } from '../home-path.js';
import { similarName } from '../similar-name.js';
import type { ChatSettings, ChatState, MediaKind } from './chat-state.js';

/** The result of a command. */
export interface CommandOutcome {
  /** Text to show. */
  readonly text?: string;
  /** A message to answer now. */
  readonly ask?: ChatMessage;
  readonly isEnd?: boolean;
}

/** A command that starts with a slash. */
export interface SlashCommand {
  readonly usage: string;
  readonly description: string;
  /** True if the argument is the path of a file. */
  readonly takesFile?: boolean;
  /** What the argument may begin with. */
  readonly words?: readonly string[];
  run(chat: ChatState, argument: string, signal: AbortSignal): CommandOutcome | Promise<CommandOutcome>;
}

/** Names for `/set`, as the user types them. */
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
    description: 'show this list',
    run: () => ({ text: helpText() }),
  },
  image: mediaCommand('image', 'a picture'),
  audio: mediaCommand('audio', 'a sound'),
  video: mediaCommand('video', 'a video'),
  system: {
    usage: '/system [TEXT]',
    description: 'set the system prompt; without TEXT, show it',
    run(chat, text) {
      if (text === '') return { text: chat.system === '' ? 'no system prompt' : chat.system };
      chat.system = text;
      return { text: 'the system prompt applies from the next answer on' };
    },
  },
  think: {
    usage: '/think on|off',
    description: 'let the model think before it answers',
    words: ['on', 'off'],
    run(chat, word) {
      if (word !== 'on' && word !== 'off') throw wrong('/think', 'on or off', word);
      chat.settings = { ...chat.settings, enableThinking: word === 'on' };
      return { text: `thinking is ${word}` };
    },
  },
  set: {
    usage: '/set NAME VALUE',
    description: `set one of ${Object.keys(SETTINGS).join(', ')}; VALUE "default" resets it`,
    words: Object.keys(SETTINGS),
    run: (chat, argument) => ({ text: set(chat, argument) }),
  },
  retry: {
    usage: '/retry',
    description: 'answer the last question again',
    run(chat) {
      const ask = chat.undo();
      return ask ? { ask } : { text: 'no question yet' };
    },
  },
  undo: {
    usage: '/undo',
    description: 'remove the last question and its answer',
    run: (chat) => ({ text: chat.undo() ? 'removed' : 'no question yet' }),
  },
  clear: {
    usage: '/clear',
    description: 'start a new conversation',
    run(chat) {
      chat.restart();
      return { text: 'new conversation' };
    },
  },
  stats: {
    usage: '/stats',
    description: 'show speed and token counts of the last answer',
    run: (chat) => ({ text: statistics(chat) }),
  },
  save: {
    usage: '/save FILE',
    description: 'write the conversation as JSON, without media',
    takesFile: true,
    async run(chat, argument) {
      const path = fileOf('/save', argument);
      await writeFile(
        path,
        `${JSON.stringify({ system: chat.system, messages: chat.messages.map(textOnly) }, null, 2)}\n`,
      );
      return { text: `saved to ${path}` };
    },
  },
  load: {
    usage: '/load FILE',
    description: 'continue a conversation written by /save',
    takesFile: true,
    async run(chat, argument) {
      const path = fileOf('/load', argument);
      const { system, messages } = conversationOf(await readFile(path, 'utf8'), path);
      chat.restart(messages);
      chat.system = system;
      return { text: `loaded ${messages.length} messages from ${path}` };
    },
  },
  quit: {
    usage: '/quit',
    description: 'end the chat, like Ctrl-D; also /exit and /bye',
    run: () => ({ isEnd: true }),
  },
};

/** Names that other programs taught. */
const ALIASES: Readonly<Record<string, string>> = {
  exit: 'quit',
  bye: 'quit',
  q: 'quit',
  '?': 'help',
  new: 'clear',
};

/**
 * Runs a line that starts with a slash.
 *
 * @throws InvalidArgumentError for an unknown command or an invalid argument
 */
export async function runSlashCommand(
  chat: ChatState,
  line: string,
  signal: AbortSignal,
): Promise<CommandOutcome> {
  const [, name = '', argument = ''] = /^\/(\S*)\s*(.*)$/s.exec(line.trim()) ?? [];
  const meant = Object.hasOwn(ALIASES, name) ? ALIASES[name]! : name;
  const command = Object.hasOwn(SLASH_COMMANDS, meant) ? SLASH_COMMANDS[meant] : undefined;
  if (command) return command.run(chat, argument, signal);
  const names = [...Object.keys(SLASH_COMMANDS), ...Object.keys(ALIASES)];
  throw wrong(
    'command',
    'one of the commands listed by /help',
    `/${name}`,
    hintOf(similarName(name, names), '/'),
  );
}

function hintOf(name: string | null, prefix = ''): string | undefined {
  return name === null ? undefined : `Did you mean ${prefix}${name}?`;
}

/** A path as it is typed, or as a terminal inserts it when a file is dropped: quoted, or with escaped spaces. */
function fileOf(command: string, argument: string): string {
  if (argument === '') throw wrong(command, 'a file name', argument);
  const [, , quoted] = /^(['"])(.*)\1$/s.exec(argument) ?? [];
  return homePath(quoted ?? argument.replaceAll(/\\([ '"()&[\]])/g, '$1'));
}

function mediaCommand(kind: MediaKind, what: string): SlashCommand {
  return {
    usage: `/${kind} FILE`,
    description: `send ${what} with the next message`,
    takesFile: true,
    async run(chat, argument, signal) {
      const path = fileOf(`/${kind}`, argument);
      const parts = await chat.readMedia(kind, path, signal);
      chat.pending.push({ name: path, parts });
      return { text: `${path} will be sent with the next message` };
    },
  };
}

function helpText(): string {
  const lines = Object.values(SLASH_COMMANDS).map(
    ({ usage, description }) => `${usage.padEnd(18)} ${description}`,
  );
  return [
    ...lines,
    'Ctrl-C stops an answer; pressed twice in a row, it ends the chat. End a line with \\ to continue it.',
  ].join('\n');
}

function set(chat: ChatState, argument: string): string {
  const [name = '', text = ''] = argument.split(/\s+/);
  const key = Object.hasOwn(SETTINGS, name) ? SETTINGS[name] : undefined;
  if (!key) {
    const names = Object.keys(SETTINGS);
    throw wrong('/set', `one of ${names.join(', ')}`, name, hintOf(similarName(name, names)));
  }
  if (text === 'default') {
    const { [key]: _, ...rest } = chat.settings;
    chat.settings = rest;
    return `${name} is the checkpoint's default`;
  }
  const value = text === '' ? Number.NaN : Number(text);
  if (!Number.isFinite(value)) throw wrong(`/set ${name}`, 'a number, or "default"', text);
  chat.settings = { ...chat.settings, [key]: value };
  return `${name} is ${value}`;
}

function statistics({ last, model }: ChatState): string {
  if (!last) return 'no answer yet';
  const { usage, timings, seed } = last;
  const seconds = (timings.totalMs - timings.firstTokenMs) / 1000;
  const rate = seconds > 0 ? ((usage.completionTokens - 1) / seconds).toFixed(1) : '–';
  return (
    `${usage.promptTokens} tokens in (${usage.cachedTokens} cached), ${usage.completionTokens} out; first token after ` +
    `${timings.firstTokenMs.toFixed(0)} ms, ${rate} tokens/s; ${usage.promptTokens + usage.completionTokens} of ` +
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
    throw wrong('/load', 'a file written by /save', path);
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

function wrong(argument: string, expected: string, received: string, hint?: string): InvalidArgumentError {
  return new InvalidArgumentError({ argument, expected, received, ...(hint !== undefined && { hint }) });
}
