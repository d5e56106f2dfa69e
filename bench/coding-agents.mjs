// Runs @openai/codex and opencode-ai against the server, one turn with a tool call each: node bench/coding-agents.mjs [folder]
// The answers are scripted, so that the size of the model does not matter; server, requests and prompts are real. Both agents are installed
// into `folder`, by default a temporary one, unless already installed.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { modelPath } from '../packages/demo-model/dist/index.js';
import { openDevice } from '../packages/metal-runtime/dist/index.js';
import { createServer } from '../packages/server/dist/index.js';
import { encodeChat, loadTextModel } from '../packages/text/dist/index.js';

if (process.argv[2] === '--help') {
  console.log('usage: node bench/coding-agents.mjs [folder]');
  process.exit(0);
}
const PACKAGES = ['@openai/codex@0.171.0', 'opencode-ai@1.18.33'];
const WORD = 'pelican';
const COMMAND = `echo ${WORD} > note.txt && cat note.txt`;

/** Calls of tools that run a command, by tool name. */
const CALLS = {
  exec_command: { cmd: COMMAND },
  shell: { command: ['bash', '-lc', COMMAND] },
  bash: { command: COMMAND, description: 'Writes a note' },
};

const temporary = await mkdtemp(join(tmpdir(), 'markbase-agents-'));
const folder = resolve(process.argv[2] ?? temporary);
const device = await openDevice({ kind: 'cpu', threads: 2 });
const model = await loadTextModel(modelPath, device, { maxSequences: 2, contextTokens: 512 });
const { tokenizer, template } = await model.language();
const failures = [];
let turns = [];

/** Answers like a model: first a command, then its output. */
function scripted(_model, requests) {
  return Promise.all(requests.map(answer));
}

async function answer({ messages, tools, ...options }) {
  // Renders the prompt as the engine would: a conversation that cannot be rendered is rejected as usual.
  const { ids } = encodeChat(tokenizer, template, messages, { tools, ...options });
  const last = messages.at(-1);
  const tool = tools?.find(({ function: { name } }) => name in CALLS)?.function.name;
  const calls = last.role !== 'tool' && tool !== undefined;
  const text =
    last.role === 'tool'
      ? `The note says ${JSON.stringify(last.content).includes(WORD) ? WORD : 'nothing'}.`
      : 'A note';
  turns.push({
    promptTokens: ids.length,
    tools: tools?.length ?? 0,
    last: last.role,
    calls: calls ? tool : null,
  });
  return {
    promptTokens: ids.length,
    async *events() {
      if (calls) {
        const argumentsJson = JSON.stringify(CALLS[tool]);
        yield {
          type: 'tool-call',
          id: `call_${turns.length}`,
          name: tool,
          arguments: CALLS[tool],
          argumentsJson,
          raw: '',
        };
      } else {
        yield { type: 'reasoning', text: 'I look at it.' };
        yield { type: 'text', text };
      }
      yield {
        type: 'finish',
        reason: calls ? 'tool-calls' : 'stop',
        stop: null,
        usage: { promptTokens: ids.length, completionTokens: 8, reasoningTokens: 0, cachedTokens: 0 },
        timings: { firstTokenMs: 1, totalMs: 2 },
        seed: 0,
        warnings: [],
      };
    },
  };
}

function run(command, args, options) {
  return new Promise((done) => {
    const env = { ...(options.env ?? process.env), PWD: options.cwd };
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options, env });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
    const timer = setTimeout(() => child.kill('SIGKILL'), 150_000);
    child.on('close', (status) => {
      clearTimeout(timer);
      done({ status, output });
    });
  });
}

async function install() {
  if (
    existsSync(join(folder, 'node_modules/.bin/codex')) &&
    existsSync(join(folder, 'node_modules/.bin/opencode'))
  )
    return;
  await writeFile(join(folder, 'package.json'), '{"private":true}');
  await run('npm', ['install', '--no-audit', '--no-fund', ...PACKAGES], { cwd: folder });
  await run('node', ['node_modules/opencode-ai/postinstall.mjs'], { cwd: folder });
}

async function check(name, begin) {
  turns = [];
  const work = join(temporary, name);
  const home = join(temporary, `${name}-home`);
  await mkdir(work, { recursive: true });
  await mkdir(home, { recursive: true });
  const { status, output } = await begin(work, home);
  const note = existsSync(join(work, 'note.txt'))
    ? (await readFile(join(work, 'note.txt'), 'utf8')).trim()
    : null;
  const hasRun = note === WORD;
  const hasRead = output.includes(`The note says ${WORD}.`);
  console.log(
    `${name}: exit ${status}, ${turns.length} requests, tool run: ${hasRun}, result read: ${hasRead}`,
  );
  for (const turn of turns) console.log(`  ${JSON.stringify(turn)}`);
  if (status === 0 && hasRun && hasRead) return;
  failures.push(name);
  console.log(output.slice(-3000));
}

const server = createServer({ model: { id: 'demo', model }, openAnswers: scripted });
const url = await server.listen({ port: 0 });
try {
  await install();
  const bin = (name) => join(folder, 'node_modules/.bin', name);
  for (const name of ['codex', 'opencode']) {
    console.log((await run(bin(name), ['--version'], { cwd: temporary })).output.trim().split('\n').at(-1));
  }
  await check('codex', async (cwd, home) => {
    const lines = [
      'model = "demo"',
      'model_provider = "markbase"',
      '[model_providers.markbase]',
      'name = "markbase"',
      `base_url = "${url}/v1"`,
      'wire_api = "responses"',
      'request_max_retries = 0',
      'stream_max_retries = 0',
    ];
    await writeFile(join(home, 'config.toml'), lines.join('\n'));
    const flags = ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'];
    return run(bin('codex'), [...flags, 'Write a note.'], {
      cwd,
      env: { ...process.env, HOME: home, CODEX_HOME: home },
    });
  });
  await check('opencode', async (cwd, home) => {
    const provider = {
      npm: '@ai-sdk/openai-compatible',
      name: 'markbase',
      options: { baseURL: `${url}/v1`, apiKey: 'none' },
      models: { demo: { name: 'demo', tool_call: true } },
    };
    const config = {
      provider: { markbase: provider },
      model: 'markbase/demo',
      small_model: 'markbase/demo',
      permission: 'allow',
    };
    await writeFile(join(cwd, 'opencode.json'), JSON.stringify(config));
    const env = {
      ...process.env,
      HOME: home,
      XDG_DATA_HOME: home,
      XDG_CONFIG_HOME: home,
      OPENCODE_DISABLE_AUTOUPDATE: '1',
    };
    Object.assign(env, { OPENCODE_CONFIG: join(cwd, 'opencode.json') });
    return run(bin('opencode'), ['run', '--model', 'markbase/demo', 'Write a note.'], { cwd, env });
  });
} finally {
  await server.close();
  model.dispose();
  device.dispose();
  await rm(temporary, { recursive: true, force: true });
}
console.log(
  failures.length === 0 ? 'both agents ran a tool and read its result' : `failed: ${failures.join(', ')}`,
);
process.exit(failures.length === 0 ? 0 : 1);
