// Renders chat template cases from standard input with the engine's own template class; used by test_template.py.
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { ChatTemplate } from '../../packages/text/dist/index.js';

const template = new ChatTemplate(await readFile(process.argv[2], 'utf8'));
const cases = JSON.parse(await text(process.stdin));
console.log(JSON.stringify(cases.map((input) => template.render(input))));
