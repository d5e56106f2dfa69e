// Claims: no request affects others. While each attack of the table runs, `/health` answers, memory stays within a few times the body, and
// requests beyond a limit get a clear status; random mutations of valid requests do not change 64 concurrent streams. usage: node
// bench/server-attack.mjs [--mutations 10000] [--streams 64] [--model DIR] [--seed 1] [--json]
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { modelPath } from '../packages/demo-model/dist/index.js';
import { mutatedRequest } from './lib/mutated-request.mjs';
import { seededRandom } from './lib/seeded-random.mjs';
import { ATTACKS, RAW_REQUESTS } from './lib/server-attacks.mjs';

const { values: flags } = parseArgs({
  options: {
    mutations: { type: 'string', default: '10000' },
    streams: { type: 'string', default: '64' },
    model: { type: 'string', default: modelPath },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (flags.help) {
  console.log(
    'usage: node bench/server-attack.mjs [--mutations 10000] [--streams 64] [--model DIR] [--seed 1] [--json]',
  );
  process.exit(0);
}
const CLI = fileURLToPath(new URL('../apps/playground/dist/cli.js', import.meta.url));
const MIB = 2 ** 20;
const PROBE_MS = 20;
const PATIENCE_MS = 60_000;
const DRAIN_SECONDS = 2;

const server = await start();
process.on('exit', () => server.child.kill('SIGKILL'));
const attacks = [];
for (const attack of ATTACKS) attacks.push(await measured(attack.name, () => runAttack(attack)));
attacks.push(await measured(`${RAW_REQUESTS.length} raw requests`, sendRaw));
attacks.push(await measured('60 unfinished bodies of 31 MB', sendUnfinished));
const mutations = await runMutations();
const drainMs = await runDrain();
report();

/** Starts a server with default limits and waits until it listens. */
async function start() {
  const args = [CLI, 'serve', '--model', flags.model, '--name', 'demo', '--port', '0', '--threads', '1'];
  const child = spawn(process.execPath, [...args, '--drain', `${DRAIN_SECONDS}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.on('exit', (status) => resolve(status)));
  const url = await new Promise((resolve, reject) => {
    child.stdout.on('data', (text) => {
      const address = /at (http:\S+)\/v1/.exec(`${text}`)?.[1];
      if (address) resolve(address);
    });
    ended.then(() => reject(new TypeError('the server ended')));
  });
  return { child, url, ended };
}

/** Runs work while monitoring `/health` and the memory of the server. */
async function measured(name, work) {
  let isOver = false;
  let healthMs = 0;
  const before = residentBytes();
  let most = before;
  const probing = (async () => {
    while (!isOver) {
      const began = performance.now();
      await fetch(`${server.url}/health`, { signal: AbortSignal.timeout(PATIENCE_MS) }).catch(() => {});
      healthMs = Math.max(healthMs, performance.now() - began);
      await wait(PROBE_MS);
    }
  })();
  const watching = (async () => {
    while (!isOver) {
      most = Math.max(most, residentBytes());
      await wait(PROBE_MS);
    }
  })();
  const began = performance.now();
  const { statuses, bytes } = await work();
  const tookMs = performance.now() - began;
  isOver = true;
  await Promise.all([probing, watching]);
  return { name, statuses: countOf(statuses), bodyBytes: bytes, tookMs, healthMs, grownBytes: most - before };
}

async function runAttack({ requests }) {
  const sent = requests();
  const answers = await Promise.all(sent.map(({ path, body }) => post(path, body)));
  return { statuses: answers, bytes: sent.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0) };
}

/** The status of an answer, or the name of the error. */
async function post(path, body, headers = { 'content-type': 'application/json' }) {
  try {
    const response = await fetch(`${server.url}${path}`, {
      method: 'POST',
      headers,
      body,
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    await response.arrayBuffer();
    return response.status;
  } catch (error) {
    return error.name === 'TimeoutError' ? 'no answer' : 'broken';
  }
}

/** Sends malformed bytes. The server may answer or close the connection, but must not serve anything after them. */
async function sendRaw() {
  const statuses = [];
  for (const text of RAW_REQUESTS) {
    const answer = await exchange(text);
    const found = [...answer.matchAll(/HTTP\/1\.1 (\w+)/g)].map((match) => match[1]);
    statuses.push(found.length > 1 ? `two answers: ${found}` : (found[0] ?? 'closed'));
  }
  return { statuses, bytes: RAW_REQUESTS.join('').length };
}

function exchange(text, milliseconds = 300) {
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  let answer = '';
  let isBroken = false;
  socket.on('error', () => {
    isBroken = true;
  });
  socket.on('data', (data) => {
    answer += data;
  });
  socket.write(text, 'latin1');
  return new Promise((resolve) => {
    const timer = setTimeout(() => socket.destroy(), milliseconds);
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(answer === '' && isBroken ? 'HTTP/1.1 broken' : answer);
    });
  });
}

async function sendUnfinished() {
  const body = `{"messages":[{"role":"user","content":"${'x'.repeat(31 * MIB)}`;
  const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${32 * MIB}\r\n\r\n`;
  const answers = await Promise.all(Array.from({ length: 60 }, () => exchange(head + body, 20_000)));
  const statuses = answers.map((answer) => /HTTP\/1\.1 (\w+)/.exec(answer)?.[1] ?? 'held');
  return { statuses, bytes: 60 * body.length };
}

/** Streams one greedy answer. */
async function streamed(index) {
  const body = {
    model: 'demo',
    messages: [{ role: 'user', content: `Tell me a story about a fox. ${index % 8}` }],
    temperature: 0,
    max_tokens: 24,
    stream: true,
  };
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (response.status === 429) return null;
  const events = (await response.text()).split('\n\n').filter((event) => event.startsWith('data: {'));
  return events
    .map((event) => JSON.parse(event.slice('data: '.length)).choices[0]?.delta.content ?? '')
    .join('');
}

async function runMutations() {
  const random = seededRandom(Number(flags.seed));
  const alone = [];
  for (let index = 0; index < 8; index++) alone.push(await streamed(index));
  let left = Number(flags.mutations);
  const statuses = [];
  let compared = 0;
  let different = 0;
  let bytes = 0;
  const result = await measured(`${flags.mutations} mutations`, async () => {
    const mutating = Array.from({ length: 8 }, async () => {
      while (left-- > 0) {
        const { path, body } = mutatedRequest(random);
        bytes += body.length;
        statuses.push(await post(path, body));
      }
    });
    const streaming = Array.from({ length: Number(flags.streams) }, async (_, index) => {
      do {
        const text = await streamed(index);
        if (text === null) continue;
        compared++;
        if (text !== alone[index % 8]) different++;
      } while (left > 0);
    });
    await Promise.all([...mutating, ...streaming]);
    return { statuses, bytes };
  });
  return { ...result, streamedAnswers: compared, differentAnswers: different };
}

/** A client requests eight long answers and reads none; then the server is told to stop. */
async function runDrain() {
  const body = JSON.stringify({
    model: 'demo',
    messages: [{ role: 'user', content: 'Tell me a story about a seal.' }],
    stream: true,
    n: 8,
    logprobs: true,
    top_logprobs: 20,
  });
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  socket.on('error', () => {});
  socket.pause();
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await wait(1000);
  const began = performance.now();
  server.child.kill('SIGTERM');
  await server.ended;
  socket.destroy();
  return performance.now() - began;
}

function residentBytes() {
  const status = readFileSync(`/proc/${server.child.pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)[1]) * 1024;
}

function countOf(statuses) {
  const counts = {};
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

function report() {
  const results = [...attacks, mutations];
  if (flags.json) return console.log(JSON.stringify({ attacks, mutations, drainMs }, null, 2));
  console.log(
    '| attack | body, MB | statuses | took, s | longest /health, ms | memory, MB | per byte of body |',
  );
  console.log('|---|---|---|---|---|---|---|');
  for (const { name, statuses, bodyBytes, tookMs, healthMs, grownBytes } of results) {
    const counted = Object.entries(statuses).map(([status, count]) => `${count} × ${status}`);
    const row = [name, (bodyBytes / 1e6).toFixed(2), counted.join(', '), (tookMs / 1000).toFixed(1)];
    const perByte = bodyBytes >= MIB ? (grownBytes / bodyBytes).toFixed(1) : '–';
    console.log(`| ${[...row, healthMs.toFixed(0), (grownBytes / 1e6).toFixed(0), perByte].join(' | ')} |`);
  }
  const { streamedAnswers, differentAnswers } = mutations;
  console.log(
    `\n${streamedAnswers} answers streamed during the mutations, ${differentAnswers} of them differ from those without.`,
  );
  console.log(
    `SIGTERM with a client that does not read: ended after ${(drainMs / 1000).toFixed(1)} s of ${DRAIN_SECONDS}.`,
  );
}
