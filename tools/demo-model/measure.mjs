// Measures a demo model with our own engine: node measure.mjs MODEL_DIR PROMPTS.json [high|fast]
//
// PROMPTS.json comes from held_out.py. Answers are greedy. Prints the share of right answers per kind and the wrong ones; the exit code is
// 1 if there were any.
import { readFile } from 'node:fs/promises';
import { openDevice } from '../../packages/metal-runtime/dist/index.js';
import { mixtureOfExperts } from '../../packages/moe/dist/index.js';
import { generateBatch, loadTextModel } from '../../packages/text/dist/index.js';

const AT_ONCE = 8;
const [directory, promptsPath, precision = 'fast'] = process.argv.slice(2);
if (directory === undefined || promptsPath === undefined) {
  console.error('usage: node measure.mjs MODEL_DIR PROMPTS.json [high|fast]');
  process.exit(2);
}

/** True if the answer matches the prompt's `expect`. */
function isRight(answer, expect) {
  if (expect.text !== undefined) return answer.text === expect.text;
  if (expect.toolCall !== undefined) {
    const [call, ...more] = answer.toolCalls;
    return (
      more.length === 0 &&
      call?.name === expect.toolCall.name &&
      isSame(call.arguments, expect.toolCall.arguments)
    );
  }
  if (expect.json !== undefined) {
    const value = parse(answer.text);
    if (expect.json === 'array') return Array.isArray(value);
    return value !== undefined && isSame(Object.keys(value), expect.json);
  }
  const words = answer.text.split(/\s+/).length;
  return expect.mentions.every((name) => answer.text.includes(name)) && words >= expect.words;
}

function isSame(a, b) {
  return JSON.stringify(a) === JSON.stringify(b);
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function requestOf({ prompt, system, thinking }, tools) {
  const user = { role: 'user', content: prompt };
  const messages = system === undefined ? [user] : [{ role: 'system', content: system }, user];
  return { messages, tools, enableThinking: thinking ?? false, temperature: 0, maxTokens: 320 };
}

const { tools, prompts } = JSON.parse(await readFile(promptsPath, 'utf8'));
const device = await openDevice({ kind: 'cpu' });
const model = await loadTextModel(directory, device, {
  precision,
  maxSequences: AT_ONCE,
  feedForward: mixtureOfExperts,
});
const figures = {};
for (let start = 0; start < prompts.length; start += AT_ONCE) {
  const part = prompts.slice(start, start + AT_ONCE);
  const answers = await generateBatch(
    model,
    part.map((prompt) => requestOf(prompt, prompt.tools === true ? tools : null)),
  );
  for (const [index, prompt] of part.entries()) {
    figures[prompt.kind] ??= { count: 0, right: 0, wrong: [] };
    const figure = figures[prompt.kind];
    figure.count++;
    if (isRight(answers[index], prompt.expect)) figure.right++;
    else figure.wrong.push({ ...prompt, answer: answers[index].text, calls: answers[index].toolCalls });
  }
}
model.dispose();
device.dispose();
for (const [kind, { count, right, wrong }] of Object.entries(figures)) {
  console.log(`${kind}: ${right} of ${count} right (${((100 * right) / count).toFixed(1)} %)`);
  for (const item of wrong.slice(0, 5)) console.log(`  ${JSON.stringify(item)}`);
}
process.exitCode = Object.values(figures).every(({ wrong }) => wrong.length === 0) ? 0 : 1;
