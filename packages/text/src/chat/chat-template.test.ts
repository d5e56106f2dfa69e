import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { type ChatTemplate, loadChatTemplate } from './chat-template.js';

let folder: string;
beforeAll(() => {
  folder = temporaryFolder();
});

async function write(name: string, content: unknown): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

function render(template: ChatTemplate | null): string | undefined {
  return template?.render({
    messages: [],
    tools: null,
    add_generation_prompt: true,
    enable_thinking: false,
    preserve_thinking: false,
  });
}

describe('loadChatTemplate', () => {
  it('prefers chat_template.jinja, with the tokens of tokenizer_config.json', async () => {
    const chatTemplate = await write('chat_template.jinja', '{{ bos_token }} jinja {{ enable_thinking }}');
    const tokenizerConfig = await write('a.json', { chat_template: 'config', bos_token: { content: '<s>' } });
    expect(render(await loadChatTemplate({ chatTemplate, tokenizerConfig }))).toBe('<s> jinja False');
    expect(render(await loadChatTemplate({ chatTemplate, tokenizerConfig: null }))).toBe('<bos> jinja False');
  });

  it('falls back to tokenizer_config.json', async () => {
    const plain = await write('b.json', { chat_template: 'config {{ eos_token }}', eos_token: '</s>' });
    expect(render(await loadChatTemplate({ chatTemplate: null, tokenizerConfig: plain }))).toBe(
      'config </s>',
    );
    const named = await write('c.json', {
      chat_template: [
        { name: 'tool_use', template: 'tools' },
        { name: 'default', template: 'default' },
      ],
    });
    expect(render(await loadChatTemplate({ chatTemplate: null, tokenizerConfig: named }))).toBe('default');
  });

  it('returns null for a base model', async () => {
    const tokenizerConfig = await write('d.json', { bos_token: '<bos>' });
    expect(await loadChatTemplate({ chatTemplate: null, tokenizerConfig })).toBeNull();
    expect(await loadChatTemplate({ chatTemplate: null, tokenizerConfig: null })).toBeNull();
  });

  it('reports missing and corrupt files', async () => {
    const missing = loadChatTemplate({ chatTemplate: join(folder, 'none'), tokenizerConfig: null });
    await expect(missing).rejects.toThrow(expect.objectContaining({ code: 'FILE_ACCESS' }));
    const broken = loadChatTemplate({ chatTemplate: null, tokenizerConfig: await write('e.json', '{') });
    await expect(broken).rejects.toThrow(expect.objectContaining({ code: 'CORRUPT_FILE' }));
    const jinja = await write('f.jinja', '{% for %}');
    await expect(loadChatTemplate({ chatTemplate: jinja, tokenizerConfig: null })).rejects.toThrow(
      expect.objectContaining({ code: 'CHAT_TEMPLATE', path: jinja }),
    );
  });
});
