// Measures the demo model on held-out pictures and clips with our own engine, starting from the files:
//
//   node measure-media.mjs MODEL_DIR HELD_OUT_DIR [high|fast] [SET …]
//
// HELD_OUT_DIR is packages/demo-model/held-out. With names of sets, only these are measured: folders of speech that speech_check.py makes. Answers are greedy. Prints one line per set, then the wrong answers.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AudioModel } from '../../packages/audio/dist/index.js';
import { openDevice } from '../../packages/metal-runtime/dist/index.js';
import { generateBatch, loadTextModel } from '../../packages/text/dist/index.js';
import { VisionModel } from '../../packages/vision/dist/index.js';

const AT_ONCE = 8;
const DESCRIBE = 'Describe the image.';
const TRANSCRIBE = 'Transcribe the audio.';
const THING =
  /(red|orange|yellow|green|blue|purple|pink|brown|black|white|gray) (circle|square|triangle|star|heart|cross|ring|diamond|ball|cube|cone|cylinder) ((?:at|on|in) the (?:top left|top right|bottom left|bottom right|top|bottom|left|right|center))/g;

const [directory, heldOut, precision = 'fast', ...speechSets] = process.argv.slice(2);
if (directory === undefined || heldOut === undefined) {
  console.error('usage: node measure-media.mjs MODEL_DIR HELD_OUT_DIR [high|fast] [SET …]');
  process.exit(2);
}

/**
 * Right attributes and all attributes of an answer: colour, kind and place of each thing, else words. Things are paired by place, the rest
 * in order; each extra thing counts as three wrong attributes. reader.py counts in the same way.
 */
function attributes(wanted, given) {
  const things = thingsIn(wanted);
  if (things.length === 0) {
    const [expected, answer] = [wanted.split(/\s+/), given.split(/\s+/)];
    return {
      right: expected.filter((word, at) => word === answer[at]).length,
      all: Math.max(expected.length, answer.length),
    };
  }
  const told = thingsIn(given);
  const left = [...told];
  const pairs = [];
  const rest = [];
  for (const thing of things) {
    const at = left.findIndex(([, , place]) => place === thing[2]);
    if (at < 0) rest.push(thing);
    else pairs.push([thing, left.splice(at, 1)[0]]);
  }
  for (const [at, thing] of rest.entries()) if (left[at] !== undefined) pairs.push([thing, left[at]]);
  const right = pairs.flatMap(([a, b]) => a.filter((part, at) => part === b[at])).length;
  return { right, all: 3 * Math.max(things.length, told.length) };
}

function thingsIn(text) {
  return [...text.matchAll(THING)].map(([, color, kind, place]) => [color, kind, place]);
}

function description(things) {
  const parts = things.map(
    ({ color, kind, place }) => `a${/^[aeiou]/.test(color) ? 'n' : ''} ${color} ${kind} ${place}`,
  );
  const text = parts.length === 1 ? parts[0] : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}

/** Words in the spelling of transcripts. */
function wordsOf(text) {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z' ]/g, ' ')
    .split(' ')
    .filter(Boolean);
}

/** Substitutions, insertions and deletions of the cheapest alignment. */
function wordErrors(wanted, given) {
  let row = given.map((_, at) => at + 1);
  row.unshift(0);
  for (const [i, word] of wanted.entries()) {
    const next = [i + 1];
    for (const [j, other] of given.entries()) {
      next.push(Math.min(row[j + 1] + 1, next[j] + 1, row[j] + (word === other ? 0 : 1)));
    }
    row = next;
  }
  return row.at(-1);
}

async function entriesOf(set, name) {
  const entries = JSON.parse(await readFile(join(heldOut, set, name), 'utf8'));
  return entries.map((entry) => ({ ...entry, path: join(heldOut, set, entry.file) }));
}

/** Greedy answers to messages, in batches. */
async function answersTo(contents) {
  const texts = [];
  for (let start = 0; start < contents.length; start += AT_ONCE) {
    const requests = contents
      .slice(start, start + AT_ONCE)
      .map((content) => ({ messages: [{ role: 'user', content }], temperature: 0, maxTokens: 96 }));
    for (const { text } of await generateBatch(model, requests)) texts.push(text);
  }
  return texts;
}

async function measurePictures(set, entries) {
  const pictures = await vision.encode(entries.map(({ path }) => path));
  const answers = await answersTo(
    entries.map(({ ask = DESCRIBE }, at) => [
      { type: 'image', softTokens: pictures[at] },
      { type: 'text', text: ask },
    ]),
  );
  const total = { right: 0, all: 0 };
  const wrong = [];
  for (const [at, { file, answer, things }] of entries.entries()) {
    const wanted = answer ?? description(things);
    const { right, all } = attributes(wanted, answers[at]);
    total.right += right;
    total.all += all;
    if (answers[at] !== wanted) wrong.push(`  ${file}: ${wanted} -> ${answers[at]}`);
  }
  report(
    `${set}: ${total.right} of ${total.all} attributes right (${percent(total.right, total.all)})`,
    wrong,
  );
}

async function measureSpeech(set, entries) {
  const contents = [];
  for (const { path } of entries) {
    const segments = await audio.encode(path);
    contents.push([
      ...segments.map(({ softTokens }) => ({ type: 'audio', softTokens })),
      { type: 'text', text: TRANSCRIBE },
    ]);
  }
  const answers = await answersTo(contents);
  const total = { errors: 0, words: 0 };
  const wrong = [];
  for (const [at, { file, transcript }] of entries.entries()) {
    const [wanted, given] = [wordsOf(transcript), wordsOf(answers[at])];
    const errors = wordErrors(wanted, given);
    total.errors += errors;
    total.words += wanted.length;
    if (errors > 0) wrong.push(`  ${file}: ${transcript} -> ${answers[at]}`);
  }
  report(
    `${set}: ${total.errors} of ${total.words} words wrong (${percent(total.errors, total.words)})`,
    wrong,
  );
}

function percent(part, all) {
  return `${((100 * part) / all).toFixed(1)} %`;
}

function report(line, wrong) {
  console.log([line, ...wrong].join('\n'));
}

const device = await openDevice({ kind: 'cpu' });
const model = await loadTextModel(directory, device, { precision, maxSequences: AT_ONCE });
const vision = await VisionModel.load(model.checkpoint, device, { precision });
const audio = await AudioModel.load(model.checkpoint, device, { precision });
if (speechSets.length > 0) {
  for (const set of speechSets) await measureSpeech(set, await entriesOf(set, 'clips.json'));
} else await measureHeldOut();
for (const resource of [audio, vision, model, device]) resource.dispose();

async function measureHeldOut() {
  await measurePictures('scenes', await entriesOf('scenes', 'scenes.json'));
  await measurePictures('photographs', await entriesOf('photographs', 'photographs.json'));
  await measureSpeech('speech', await entriesOf('speech', 'clips.json'));
  const others = await entriesOf('speech-other', 'clips.json');
  for (const source of ['flite', 'pocketsphinx']) {
    await measureSpeech(
      `speech-other, ${source}`,
      others.filter((entry) => entry.source.startsWith(source)),
    );
  }
}
