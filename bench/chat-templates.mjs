// Compares prompts with those of Jinja2 3.1, byte for byte: node bench/chat-templates.mjs template.jinja...
// The conversations are those of fixtures/chat-templates; it needs python3 with jinja2. Templates of checkpoints are not part of the
// repository.
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { modelPath } from '../packages/demo-model/dist/index.js';
import { ChatTemplate, loadTokenizer, parseExactJson, renderChat } from '../packages/text/dist/index.js';

const file = fileURLToPath(new URL('../fixtures/chat-templates/conversations.json', import.meta.url));
const script = fileURLToPath(new URL('lib/render-jinja2.py', import.meta.url));
const paths = process.argv.slice(2);
if (paths.length === 0) {
  process.stderr.write('usage: node bench/chat-templates.mjs template.jinja...\n');
  process.exit(1);
}
const conversations = parseExactJson(await readFile(file, 'utf8'));
const reference = JSON.parse(execFileSync('python3', [script, file, ...paths], { maxBuffer: 1 << 28 }));
const tokenizer = await loadTokenizer(join(modelPath, 'tokenizer.json'));

for (const path of paths) {
  const template = new ChatTemplate(await readFile(path, 'utf8'), { path });
  const counts = { equal: 0, opened: 0, 'system parts': 0, different: 0 };
  for (const [index, conversation] of conversations.entries())
    counts[compare(template, conversation, reference[path][index])]++;
  console.log(path, JSON.stringify(counts));
}

/** `opened`: equal, except that our prompt then opens a model turn, which the template omits. */
function compare(
  template,
  { messages, tools, enable_thinking: enableThinking, preserve_thinking: preserveThinking },
  wanted,
) {
  const own = messages.map(({ tool_call_id: toolCallId, tool_calls: calls, ...message }) => ({
    ...message,
    ...(toolCallId && { toolCallId }),
    ...(calls && { toolCalls: calls.map(({ id, function: call }) => ({ id, ...call })) }),
  }));
  const segments = renderChat(tokenizer, template, own, { tools, enableThinking, preserveThinking });
  const text = segments.map((segment) => segment.text).join('');
  if (text === wanted) return 'equal';
  if (wanted?.endsWith('<turn|>\n') && text.startsWith(`${wanted}<|turn>model\n`)) return 'opened';
  return wanted?.includes("[{'type': 'text'") ? 'system parts' : 'different';
}
