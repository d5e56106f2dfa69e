// Builds the grammars of deliberately expensive schemas, and prints CPU time, memory and outcome of each.
import { parseArgs } from 'node:util';
import { describeSchema } from '../packages/text/dist/index.js';

const { values } = parseArgs({ options: { json: { type: 'boolean', default: false } } });

const upTo = (count, make) => Array.from({ length: count }, (_, index) => make(index));
const nested = (depth, wrap, inner) => upTo(depth, () => 0).reduce(wrap, inner);
const listed = upTo(20_000, (index) => `value ${(index * 7919) % 100_003} of the list`);
const branches = (index) => [
  { $ref: `#/$defs/d${index + 1}` },
  { $ref: `#/$defs/d${index + 1}`, minLength: index % 3 },
];
const deep = upTo(31, (index) => [
  `d${index}`,
  index === 30 ? { type: 'string' } : { anyOf: branches(index) },
]);

const CASES = {
  'anyOf of two $refs, 30 levels': { $ref: '#/$defs/d0', $defs: Object.fromEntries(deep) },
  '^.*[a-z].{300}$': { type: 'string', pattern: '^.*[a-z].{300}$' },
  '(a?){1000}, three times': { type: 'string', pattern: '^(a?){1000}(a?){1000}(a?){1000}$' },
  'enum of 20,000 strings': { enum: listed },
  'all strings but 20,000': { type: 'string', not: { enum: listed } },
  '16 levels of ambiguous arrays': nested(
    16,
    (items) => ({
      anyOf: [
        { type: 'array', items },
        { type: 'array', items, minItems: 1 },
      ],
    }),
    { type: 'integer' },
  ),
  '1,000 nested arrays': nested(1000, (items) => ({ type: 'array', items }), { type: 'integer' }),
  'allOf of 30 anyOf': {
    allOf: upTo(30, (index) => ({
      anyOf: [{ properties: { [`a${index}`]: false } }, { required: [`b${index}`] }],
    })),
  },
  'oneOf of 30 that overlap': { oneOf: upTo(30, (index) => ({ type: 'object', required: [`a${index}`] })) },
  'strings of up to 100,000': { type: 'string', maxLength: 100_000 },
  'strings of up to 10,000,000': { type: 'string', maxLength: 10_000_000 },
  '500 properties': {
    type: 'object',
    properties: Object.fromEntries(upTo(500, (index) => [`p${index}`, { type: 'string' }])),
  },
};

const results = [];
for (const [name, schema] of Object.entries(CASES)) {
  globalThis.gc?.();
  const [memory, cpu] = [process.memoryUsage().heapUsed, process.cpuUsage()];
  const { supported, reason, states } = await describeSchema(schema);
  const { user, system } = process.cpuUsage(cpu);
  results.push({
    name,
    cpuMs: Math.round((user + system) / 1000),
    heapMB: Math.max(0, Math.round((process.memoryUsage().heapUsed - memory) / 1e6)),
    states,
    answer: supported ? 'held' : reason.slice(0, 80),
  });
}
if (values.json) process.stdout.write(`${JSON.stringify(results, null, 2)}\n`);
else console.table(results);
