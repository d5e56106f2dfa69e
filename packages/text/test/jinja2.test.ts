import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { ChatTemplate, renderChat } from '../src/chat/index.js';
import type { Tokenizer } from '../src/tokenizer/index.js';
import { jinja2Renders, templateCorpus } from './template-corpus.js';
import { testChatTemplate } from './test-chat-template.js';
import { loadTestTokenizer } from './test-tokenizer.js';

const demo = readFileSync(new URL('../../demo-model/model/chat_template.jinja', import.meta.url), 'utf8');
const TEMPLATES = {
  small: testChatTemplate('small'),
  large: testChatTemplate('large'),
  demo: new ChatTemplate(demo),
};

let tokenizer: Tokenizer;
beforeAll(async () => {
  tokenizer = await loadTestTokenizer();
});

describe('a prompt', () => {
  const corpus = templateCorpus();
  const renders = jinja2Renders();

  it.each(['small', 'large', 'demo'] as const)('renders the same bytes as Jinja2: %s', (name) => {
    for (const [index, { messages, options }] of corpus.entries()) {
      const segments = renderChat(tokenizer, TEMPLATES[name], messages, options);
      const text = segments.map((segment) => segment.text).join('');
      expect(text, `conversation ${index}`).toBe(renders[name]![index]);
    }
    expect(corpus.length).toBeGreaterThan(50);
  });
});
