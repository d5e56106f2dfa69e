import { readFileSync } from 'node:fs';
import { ChatTemplate } from '../src/chat/index.js';

const source = readFileSync(new URL('chat-template.jinja', import.meta.url), 'utf8');

/** The template of the small models (E2B, E4B) or of the large ones, as described in the specification. */
export function testChatTemplate(size: 'small' | 'large'): ChatTemplate {
  const hasEmptyThought = size === 'large';
  return new ChatTemplate(`{%- set has_empty_thought = ${hasEmptyThought} -%}\n${source}`);
}
