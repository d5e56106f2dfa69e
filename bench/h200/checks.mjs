// Parts that check results, regardless of time.
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { FAMILIES } from '../../packages/metal-runtime/conformance/index.ts';

/** A case that takes longer is considered hung; the first ones wait for the driver to compile. */
const CASE_SECONDS = 200;
const SHOWN_FAILURES = 60;
/** Cases per process under a sanitizer, and the seconds reserved for the last case of a part and the tool's report. */
const SANITIZER_CASES = 24;
const SANITIZER_END_SECONDS = 40;
/** Files that only a build copies into the second demo model's folder. */
const SHARED_WITH_MODEL = ['tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja'];
const SANITIZERS = ['memcheck', 'racecheck'];
const SANITIZER_PLACES = ['/usr/local/cuda/bin', '/opt/nvidia/nsight-compute/compute-sanitizer'];

const linesOf = (text) =>
  text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));

/** The checks of cuda-device.test.ts. */
export async function device(session, check) {
  const { stdout, failure } = await session.worker('device', {});
  for (const { name, error, isSkipped } of linesOf(stdout))
    check(name, isSkipped ? null : error === null, error ?? '');
  if (failure !== null) check('the checks run to completion', false, failure);
}

/** Every case of every family, against its oracle and in every way that must give the same bits. */
export async function conformance(session, check) {
  const names = familiesOf(session);
  const isBrief = session.isTiny;
  const found = Object.fromEntries(names.map((name) => [name, { passed: 0, failures: [] }]));
  const counts = casesOf(names, isBrief ? 2 : null);
  const shards = Array.from({ length: session.jobs }, (_, shard) => async () => {
    for (let first = shard; first !== null; ) {
      const parameters = { first, of: session.jobs, families: names, isBrief, mostRows: isBrief ? 2 : null };
      first = await runShard(session, parameters, found);
    }
  });
  await session.inParallel(session.jobs, shards);
  const failures = names.flatMap((name) => found[name].failures);
  for (const { family, name, error } of failures.slice(0, SHOWN_FAILURES)) {
    session.say(`${family} > ${name}: ${error.slice(0, 200)}`);
  }
  for (const name of names) {
    const { passed, failures } = found[name];
    const missing = counts[name] - passed - failures.length;
    const detail = `${passed} of ${counts[name]} passed, ${failures.length} failed, ${missing} not reached`;
    check(
      `conformance of ${name}`,
      failures.length > 0 ? false : missing > 0 || passed === 0 ? null : true,
      detail,
    );
  }
  const passed = names.reduce((sum, name) => sum + found[name].passed, 0);
  session.say(`${passed} cases passed, ${failures.length} failed`);
  return { passed, failures };
}

/** Runs a shard until it ends; returns the case to continue with if it ended early, else null. */
async function runShard(session, parameters, found) {
  let current = null;
  let isDone = false;
  const onLine = (line) => {
    const { index, family, name, error, ...more } = JSON.parse(line);
    if (more.isDone) isDone = true;
    else if (family) current = { index, family, name, isOpen: true };
    else if (index !== undefined) {
      current.isOpen = false;
      if (error === null) found[current.family].passed += 1;
      else found[current.family].failures.push({ family: current.family, name: current.name, error });
    }
  };
  const shard = { ...parameters, seconds: session.secondsLeft - 5 };
  const { failure } = await session.worker('conformance', shard, { onLine, idleSeconds: CASE_SECONDS });
  if (isDone || session.secondsLeft < 10) return null;
  if (current?.isOpen) {
    found[current.family].failures.push({ ...current, error: `the process ended: ${failure}` });
  } else if (failure !== null) {
    const family = current?.family ?? Object.keys(found)[0];
    found[family].failures.push({ family, name: 'the process', error: failure });
  }
  return current === null ? null : current.index + parameters.of;
}

function familiesOf({ options }) {
  const known = FAMILIES.map(({ name }) => name);
  const asked = options.families?.split(',') ?? known;
  const wrong = asked.find((name) => !known.includes(name));
  if (wrong !== undefined) throw new RangeError(`no family ${wrong}; expected one of ${known.join(', ')}`);
  return asked;
}

function casesOf(names, mostRows) {
  return Object.fromEntries(
    FAMILIES.filter(({ name }) => names.includes(name)).map(({ name, cases }) => [
      name,
      cases.filter(({ rows }) => rows.count <= (mostRows ?? Number.POSITIVE_INFINITY)).length,
    ]),
  );
}

/** Every checkpoint with reference outputs, in both precisions. */
export async function verify(session, check) {
  const folders = session.isTiny ? fixturesOf(session).slice(0, 1) : fixturesOf(session);
  const reports = [];
  const tasks = folders.flatMap((folder) =>
    ['high', 'fast'].map((precision) => async () => {
      const name = `${path.basename(folder)} in ${precision}`;
      const { value, failure } = await session.json(['verify', folder, ...onCuda(precision)]);
      const sections = value?.sections ?? [];
      const failed = sections.filter(({ pass, skipped }) => skipped === undefined && !pass);
      const largest = Math.max(...sections.map(({ relRms }) => relRms ?? 0));
      const detail = failed
        .map(({ name, relRms, tolerance }) => `${name} ${relRms} of ${tolerance}`)
        .join('; ');
      check(name, value?.pass ?? false, detail || (failure ?? ''));
      const skipped = sections.filter((section) => section.skipped !== undefined).length;
      session.say(
        `${name}: ${value?.pass ? 'passed' : 'FAILED'}, largest relative rms ${largest.toExponential(1)}` +
          (skipped > 0 ? `, ${skipped} sections skipped` : ''),
      );
      reports.push({ name, report: value });
    }),
  );
  await session.inParallel(Math.max(1, session.jobs / 2), tasks);
  return reports;
}

function onCuda(precision) {
  return ['--device', 'cuda', '--precision', precision];
}

/** Folders with expected.safetensors; for duplicate names, the first one wins. */
function fixturesOf({ options, root }) {
  const places = [options.fixtures, process.env.MARKBASE_FIXTURES, path.join(root, 'fixtures')];
  const found = new Map();
  for (const place of [...places, path.join(root, 'packages/demo-model')]) {
    if (!place || !existsSync(place)) continue;
    for (const name of readdirSync(place).sort()) {
      const folder = path.join(place, name);
      if (!found.has(name) && existsSync(path.join(folder, 'expected.safetensors'))) found.set(name, folder);
    }
  }
  return [...found.values()];
}

/** The second demo model with the tokenizer and template of the first. */
function withTokenizer(session, models) {
  const folder = mkdtempSync(path.join(session.work, 'model-moe-'));
  const files = new Map([
    ...SHARED_WITH_MODEL.map((name) => [name, path.join(models, 'model', name)]),
    ...readdirSync(path.join(models, 'model-moe')).map((name) => [
      name,
      path.join(models, 'model-moe', name),
    ]),
  ]);
  for (const [name, target] of files) copyFileSync(target, path.join(folder, name));
  return folder;
}

/** Greedy answers of the demo models in `high`, which must equal the CPU's word for word. */
export async function demo(session, check) {
  const models = path.join(session.root, 'packages/demo-model');
  const folders = { model: path.join(models, 'model'), 'model-moe': withTokenizer(session, models) };
  const speech = path.join(models, 'held-out/speech');
  const sound = existsSync(speech) && readdirSync(speech).find((name) => /\.(wav|flac|ogg)$/.test(name));
  const prompts = [
    ['model', 'Tell me a story about a fox and a lantern.'],
    ['model', 'What is 31 + 90?'],
    ['model', 'Count from one to ten.'],
    ['model-moe', 'Tell me a story about a fox and a lantern.'],
    ['model-moe', 'What is 31 + 90?'],
    ...(sound ? [['model', 'What is said?', '--audio', path.join(speech, sound)]] : []),
  ];
  const answers = [];
  const tasks = (session.isTiny ? prompts.slice(0, 1) : prompts).map(
    ([model, prompt, ...media]) =>
      async () => {
        const answer = (kind) =>
          session.json([
            ...['generate', '--model', folders[model], '--prompt', prompt, ...media],
            ...[
              '--temperature',
              '0',
              '--repetition-penalty',
              '1',
              '--max-tokens',
              session.isTiny ? '4' : '80',
            ],
            ...['--device', kind, '--precision', 'high'],
          ]);
        const [cpu, cuda] = [await answer('cpu'), await answer('cuda')];
        const isEqual = cpu.value !== null && cuda.value !== null && cpu.value.text === cuda.value.text;
        const detail = cpu.failure ?? cuda.failure ?? `cpu: ${cpu.value.text}; cuda: ${cuda.value.text}`;
        check(
          `${model}: ${prompt}${media.length > 0 ? ' (with a sound)' : ''}`,
          isEqual,
          isEqual ? '' : detail,
        );
        answers.push({ model, prompt, cpu: cpu.value?.text, cuda: cuda.value?.text });
      },
  );
  await session.inParallel(Math.max(1, session.jobs / 2), tasks);
  check(
    'a picture in a prompt',
    null,
    'pictures are decoded by sharp, which is not packed; see verify and towers',
  );
  return answers;
}

/** The conformance cases, each once in each precision, under NVIDIA's compute-sanitizer. */
export async function sanitizer(session, check) {
  const places = [...(process.env.PATH ?? '').split(':'), ...SANITIZER_PLACES];
  const program = places
    .map((place) => path.join(place, 'compute-sanitizer'))
    .find((file) => existsSync(file));
  if (program === undefined) {
    check('compute-sanitizer', null, 'it is not installed here');
    return null;
  }
  const names = familiesOf(session);
  const counts = casesOf(names, null);
  const runs = SANITIZERS.flatMap((tool) => names.map((family) => ({ tool, family, shards: [] })));
  const tasks = runs.flatMap((run) => {
    const of = Math.ceil(counts[run.family] / SANITIZER_CASES);
    return Array.from({ length: of }, (_, first) => async () => {
      run.shards.push(await runSanitized(session, program, run, { first, of }));
      if (run.shards.length === of) judge(run);
    });
  });
  const judge = ({ tool, family, shards }) => {
    const sum = (name) => shards.reduce((total, shard) => total + shard[name], 0);
    const failures = shards.flatMap(({ failure }) => failure ?? []);
    const missing = counts[family] - sum('cases');
    const detail = [
      `${sum('cases')} of ${counts[family]} cases`,
      `${sum('wrong')} wrong`,
      `${sum('found')} found by ${tool}`,
      ...failures.slice(0, 1),
    ].join(', ');
    session.say(`${tool} of ${family}: ${detail}`);
    const isBad = sum('wrong') > 0 || sum('found') > 0 || failures.length > 0;
    check(`${tool} of ${family}`, isBad ? false : missing > 0 ? null : true, detail);
  };
  await session.inParallel(session.jobs, tasks);
  return runs.map(({ tool, family, shards }) => ({
    tool,
    family,
    cases: shards.reduce((total, { cases }) => total + cases, 0),
    logs: shards.flatMap(({ log }) => log ?? []),
  }));
}

/** Runs cases of a family under a tool: counts of cases, of wrong results, and of errors or hazards that the tool reported. */
async function runSanitized(session, program, { tool, family }, { first, of }) {
  const late = session.secondsLeft - SANITIZER_END_SECONDS;
  if (late <= 0) return { cases: 0, wrong: 0, found: 0, failure: null, log: null };
  const log = path.join(session.work, `${tool}-${family}-${first}.log`);
  rmSync(log, { force: true });
  const options = ['--tool', tool, '--print-limit', '5', '--log-file', log];
  const shard = { first, of, families: [family], isBrief: true, mostRows: null, seconds: late };
  const { stdout, failure } = await session.worker('conformance', shard, { prefix: [program, ...options] });
  const cases = linesOf(stdout).filter(({ ms }) => ms !== undefined);
  const text = existsSync(log) ? readFileSync(log, 'utf8') : '';
  const [, found] = /SUMMARY: (\d+) (?:error|hazard)/.exec(text) ?? [];
  // A process that did not finish its last case in time proves nothing.
  const isLate = failure !== null && session.secondsLeft === 0;
  return {
    cases: cases.length,
    wrong: cases.filter(({ error }) => error !== null).length,
    found: Number(found ?? 0),
    failure: isLate
      ? null
      : (failure ?? (found === undefined ? `no summary (${text.trim().slice(-200)})` : null)),
    log: found === '0' ? null : text.slice(0, 3000),
  };
}
