// Runs the parts of h200.sh, keeps their results in a file, and prints the table.
import { rmSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { conformance, demo, device, sanitizer, verify } from './checks.mjs';
import { VARIANTS } from './figures.mjs';
import { doctor, env, jit, readAbout } from './machine.mjs';
import { Session } from './session.mjs';
import { long, profile, speed, towers } from './speed.mjs';
import { summaryLines } from './summary.mjs';

const PARTS = {
  env,
  doctor,
  jit,
  device,
  conformance,
  verify,
  demo,
  sanitizer,
  speed,
  profile,
  long,
  towers,
};
/** Parts that run once per variant. */
const BY_VARIANT = new Set(['speed', 'profile', 'long']);

const HELP = `usage: sh bench/h200.sh [options] PART [VARIANT...] ...
parts: ${Object.keys(PARTS).join(', ')};
  all = these in this order; summary = the table of the results in the file; variants: ${VARIANTS.join(', ')}
  --out FILE        results are appended to this file ($OUT/results.json, else results.json in the work folder)
  --limit SECONDS   time limit of a part (480); for speed, profile and long: of each variant
  --fixtures DIR    checkpoints for verify (MARKBASE_FIXTURES, and fixtures/ of the checkout)
  --models DIR      folder in which checkpoints are created (work folder); a RAM disk is fastest
  --families A,B    families for conformance; default: all
  --towers A,B      towers, of e2b, large and audio
  --keep            keeps the checkpoints of speed, profile and long for reuse
  --tiny            tiny checkpoints and few repetitions: a rehearsal
`;

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    out: { type: 'string' },
    limit: { type: 'string', default: '480' },
    fixtures: { type: 'string' },
    models: { type: 'string' },
    families: { type: 'string' },
    towers: { type: 'string' },
    keep: { type: 'boolean', default: false },
    tiny: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const work = process.env.H200_WORK;
const session = new Session({
  about: readAbout(process.env.H200_BUNDLE),
  out: path.resolve(flags.out ?? path.join(process.env.OUT ?? work, 'results.json')),
  root: path.resolve(process.env.H200_ROOT),
  work,
  isTiny: flags.tiny,
  limitSeconds: Number(flags.limit),
  options: { ...flags, models: path.join(path.resolve(flags.models ?? work), 'markbase-h200-models') },
});

const runs = flags.help ? [] : plan(positionals);
if (runs.length === 0) {
  session.say(HELP.trimEnd());
  process.exitCode = flags.help ? 0 : 2;
} else {
  let hasFailed = false;
  for (const run of runs) hasFailed = !(await runPart(run)) || hasFailed;
  for (const line of summaryLines(session.readResults())) session.say(line);
  const hasWritten = runs.some(({ variant }) => variant !== null);
  if (hasWritten && !flags.keep) rmSync(session.options.models, { recursive: true, force: true });
  process.exitCode = hasFailed ? 1 : 0;
}

/** What to run, in order: `{ name, variant }`; undefined if a word is unknown. */
function plan(words) {
  const runs = [];
  const asked = [];
  for (const word of words.flatMap((each) => (each === 'all' ? Object.keys(PARTS) : [each]))) {
    if (word in PARTS) asked.push({ name: word, variants: [] });
    else if (VARIANTS.includes(word) && BY_VARIANT.has(asked.at(-1)?.name)) asked.at(-1).variants.push(word);
    else if (word === 'summary') asked.push({ name: word, variants: [] });
    else return [];
  }
  for (const { name, variants } of asked) {
    const each = BY_VARIANT.has(name) ? (variants.length > 0 ? variants : VARIANTS) : [null];
    for (const variant of each) runs.push({ name, variant });
  }
  return runs;
}

/** True when no check failed. A part that throws counts as a failed check, and the others continue. */
async function runPart({ name, variant }) {
  if (name === 'summary') return true;
  // A rehearsal's figures are not compared with the peer's.
  const title = `${variant ? `${name} ${variant}` : name}${session.isTiny ? ' (tiny)' : ''}`;
  session.say(`== ${title}`);
  session.startPart();
  const start = Date.now();
  const checks = [];
  /** Adds a check; ok = null: it was not run for the reason in `detail`. */
  const check = (what, ok, detail = '') => {
    checks.push({ what, ok, detail });
    if (ok !== true) session.say(`${ok === null ? 'not run' : 'FAILED'}: ${what}: ${detail}`);
  };
  const data = await PARTS[name](session, check, variant).catch((error) => {
    check(title, false, error.stack);
    return null;
  });
  const seconds = (Date.now() - start) / 1000;
  const count = (ok) => checks.filter((each) => each.ok === ok).length;
  session.say(
    `== ${title}: ${count(true)} passed, ${count(false)} failed, ${count(null)} not run in ${seconds.toFixed(0)} s`,
  );
  session.record(title, { at: new Date(start).toISOString(), about: session.about, seconds, checks, data });
  return count(false) === 0;
}
