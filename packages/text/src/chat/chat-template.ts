import { readFile } from 'node:fs/promises';
import { Template } from '@huggingface/jinja';
import { CorruptFileError, FileAccessError } from '@markbase/core';
import { ChatTemplateError } from './chat-template-error.js';
import { renderAsPython } from './python-interpreter.js';
import { probeTemplate, type TemplateAbilities } from './template-abilities.js';
import type { TemplateInput } from './template-input.js';

/** Files of a checkpoint that may contain a chat template; null if a file does not exist. */
export interface ChatTemplateFiles {
  /** Path of chat_template.jinja. */
  readonly chatTemplate: string | null;
  /** Path of chat_template.json, which has the template as `chat_template`. */
  readonly chatTemplateJson?: string | null;
  /** Path of tokenizer_config.json. */
  readonly tokenizerConfig: string | null;
}

/** A Jinja template that turns a conversation into the text of a prompt. */
export class ChatTemplate {
  /** File that contains the template. */
  readonly path: string;
  /** The Jinja source. */
  readonly source: string;
  /** Text of the token that starts every prompt. */
  readonly bosToken: string;
  /** Text of the token that ends a text. */
  readonly eosToken: string;
  readonly #template: Template;
  #abilities: TemplateAbilities | null = null;

  /** Errors: ChatTemplateError when `source` is not valid Jinja. */
  constructor(source: string, options: { path?: string; bosToken?: string; eosToken?: string } = {}) {
    this.source = source;
    this.path = options.path ?? 'template text';
    this.bosToken = options.bosToken ?? '<bos>';
    this.eosToken = options.eosToken ?? '<eos>';
    this.#template = this.#guard(() => new Template(source));
  }

  /** Renders the template as Jinja2 does. Errors: ChatTemplateError if it raises an exception or fails. */
  render(input: TemplateInput): string {
    const tokens = { bos_token: this.bosToken, eos_token: this.eosToken };
    return this.#guard(() => renderAsPython(this.#template, { ...input, ...tokens }));
  }

  /** What the template can render, determined by trying it. */
  get abilities(): TemplateAbilities {
    this.#abilities ??= probeTemplate(this);
    return this.#abilities;
  }

  #guard<T>(action: () => T): T {
    try {
      return action();
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new ChatTemplateError({ path: this.path, reason, cause });
    }
  }
}

/**
 * Loads the chat template of a checkpoint: chat_template.jinja, or else `chat_template` of chat_template.json or
 * tokenizer_config.json (if it is a list, the template named `default`, or else the first). Null if there is none: base models are not made for chats.
 *
 * Errors: FileAccessError, CorruptFileError, ChatTemplateError.
 */
export async function loadChatTemplate(files: ChatTemplateFiles): Promise<ChatTemplate | null> {
  const config = files.tokenizerConfig === null ? {} : await readConfig(files.tokenizerConfig);
  const tokens = { bosToken: tokenText(config.bos_token), eosToken: tokenText(config.eos_token) };
  if (files.chatTemplate !== null) {
    const source = await readText(files.chatTemplate);
    return new ChatTemplate(source, { path: files.chatTemplate, ...tokens });
  }
  if (files.chatTemplateJson) {
    const source = templateOf((await readConfig(files.chatTemplateJson)).chat_template);
    if (source !== null) return new ChatTemplate(source, { path: files.chatTemplateJson, ...tokens });
  }
  const source = templateOf(config.chat_template);
  if (source === null) return null;
  return new ChatTemplate(source, { path: files.tokenizerConfig ?? '', ...tokens });
}

function templateOf(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return null;
  const named = value.map((entry) => Object(entry)).filter((entry) => typeof entry.template === 'string');
  return (named.find((entry) => entry.name === 'default') ?? named[0])?.template ?? null;
}

/** A special token is given as its text or as an object with `content`. */
function tokenText(value: unknown): string | undefined {
  const text = typeof value === 'object' && value !== null && 'content' in value ? value.content : value;
  return typeof text === 'string' ? text : undefined;
}

async function readConfig(path: string): Promise<Record<string, unknown>> {
  const text = await readText(path);
  try {
    return Object(JSON.parse(text));
  } catch (cause) {
    throw new CorruptFileError({ rule: 'InvalidJson', path, reason: 'the file is not valid JSON', cause });
  }
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new FileAccessError({ path, operation: 'read', reason, cause });
  }
}
