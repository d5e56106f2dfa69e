// Claims: no request affects others. While each attack of the table runs during 64 concurrent streams, `/health` answers, the streams
// keep their texts and their pace, memory stays within a few times the body, and each request gets a clear status; the same for
// random mutations of valid requests. Killed processes, terminated threads and lying hubs leave nothing broken.
// Ends with status 1 if a status, a text or (in the sample) the memory is not as expected. Times are printed, not checked.
// usage: node bench/server-attack.mjs [--sample] [--mutations 10000] [--streams 64] [--minutes 11] [--model DIR] [--seed 1] [--json]
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { modelPath } from '../packages/demo-model/dist/index.js';
import { addressOf, exchange, send, startServer } from './lib/attacked-server.mjs';
import {
  forbiddenRequests,
  imageHosts,
  keylessRequests,
  keyRequest,
  startHosts,
} from './lib/forbidden-requests.mjs';
import { mutatedRequest } from './lib/mutated-request.mjs';
import { runProcessAttacks } from './lib/process-attacks.mjs';
import { seededRandom } from './lib/seeded-random.mjs';
import { ATTACKS, RAW_REQUESTS } from './lib/server-attacks.mjs';
import { startWitness } from './lib/witness.mjs';

const USAGE =
  'usage: node bench/server-attack.mjs [--sample] [--mutations 10000] [--streams 64] [--minutes 11] [--model DIR] [--seed 1] [--json]';
const { values: flags } = parseArgs({
  options: {
    sample: { type: 'boolean', default: false },
    mutations: { type: 'string' },
    streams: { type: 'string' },
    minutes: { type: 'string', default: '11' },
    model: { type: 'string', default: modelPath },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (flags.help) {
  console.log(USAGE);
  process.exit(0);
}
const isSample = flags.sample;
const mutationCount = Number(flags.mutations ?? (isSample ? 60 : 10_000));
const streamCount = Number(flags.streams ?? (isSample ? 4 : 64));
const MIB = 2 ** 20;
const DRAIN_SECONDS = 2;
/** Mutations are sent by as many clients. */
const SENDERS = 32;
const KEY = 'the-key-of-the-server';
/** Memory for each byte of a body, in addition to the fluctuations of the heap and of the caches of other requests. */
const MOST_PER_BYTE = 3;
const HEAP_BYTES = 192 * MIB;
const endMs = performance.now() + Number(flags.minutes) * 60_000;
/** What is left for after the mutations. */
const RESERVE_MS = 60_000;

const failures = [];
const hosts = await startHosts();
const server = await startServer({
  model: flags.model,
  drainSeconds: DRAIN_SECONDS,
  args: imageHosts(hosts),
});
const witness = await startWitness(server, streamCount);
const rows = [];
await measured({
  name: 'no attack',
  run: () => wait(isSample ? 1000 : 10_000).then(() => ({ statuses: [], bytes: 0 })),
});
const forbidden = forbiddenRequests(hosts, server.port).filter(({ isSlow }) => !(isSample && isSlow));
const attacks = ATTACKS.filter(({ isQuick }) => isQuick || !isSample);
for (const attack of [...attacks, ...forbidden]) {
  if (performance.now() < endMs - RESERVE_MS)
    await measured({ ...attack, run: () => sendAll(attack.requests()) });
  else check(false, `${attack.name}: not run, the time is over`);
}
check(hosts.reached() === 0, `a private host was reached ${hosts.reached()} times`);
hosts.close();
const RAW = ['400', '405', '408', '413', '415', '431', 'closed'];
await measured({ name: `${RAW_REQUESTS.length} raw requests`, expected: RAW, run: sendRaw });
const unfinished = isSample ? 12 : 60;
await measured({
  name: `${unfinished} unfinished bodies of 31 MB`,
  expected: ['429', 'held'],
  run: () => sendUnfinished(unfinished),
});
await measured({
  name: 'mutations',
  counts: true,
  // A stream that waited for its turn has sent its headers before it is refused.
  expected: [200, '200 with an error', 400, 404, 413, 429],
  run: () => sendMutations(mutationCount),
});
const drainMs = await endWithDeafClient();
const keyRow = await attackKey();
const processes = await runProcessAttacks({ isSample });
for (const { name, failures: found } of processes) check(found.length === 0, `${name}: ${found.join('; ')}`);
report();
process.exit(failures.length > 0 ? 1 : 0);

function check(isGood, message) {
  if (isGood) return;
  failures.push(message);
  console.error(`NOT AS EXPECTED: ${message}`);
}

/** Runs an attack while the witness watches, and adds its row. */
async function measured({ name, expected = [], counts = false, run }) {
  witness.take();
  await wait(100);
  const before = witness.take().bytes;
  await server.takeTurnMs();
  const began = performance.now();
  const { statuses, bytes } = await run();
  const tookMs = performance.now() - began;
  await wait(50);
  const turnMs = await server.takeTurnMs();
  const seen = witness.take();
  const grownBytes = Math.max(0, seen.bytes - before);
  const row = {
    name: `${counts ? `${statuses.length} ` : ''}${name}`,
    statuses: countOf(statuses),
    bodyBytes: bytes,
    // Thousands of small bodies move the heap by more than their bytes.
    isLarge: bytes >= MIB && !counts,
    tookMs,
    turnMs,
    grownBytes,
    ...seen,
  };
  rows.push(row);
  console.error(lineOf(row));
  const wrong = statuses.filter((status) => !expected.includes(status));
  check(
    wrong.length === 0,
    `${name}: ${Object.entries(countOf(wrong)).map(([status, count]) => `${count} × ${status}`)}`,
  );
  check(seen.different === 0, `${name}: ${seen.different} streams have other texts`);
  check(seen.failed === 0, `${name}: ${seen.failed} streams failed`);
  if (isSample && bytes > 0) {
    const isBounded = grownBytes <= MOST_PER_BYTE * bytes + HEAP_BYTES;
    check(isBounded, `${name}: memory grew by ${grownBytes} bytes for ${bytes}`);
  }
}

async function sendAll(requests) {
  const statuses = await Promise.all(requests.map((request) => send(server, request)));
  return { statuses, bytes: requests.reduce((sum, { body = '' }) => sum + Buffer.byteLength(body), 0) };
}

/** Sends malformed bytes. The server may answer or close the connection, but must not serve anything after them. */
async function sendRaw() {
  const statuses = [];
  for (const text of RAW_REQUESTS) {
    const found = statusesIn(await exchange(server, [text], 300));
    statuses.push(found.length > 1 ? `two answers: ${found}` : (found[0] ?? 'closed'));
  }
  return { statuses, bytes: RAW_REQUESTS.join('').length };
}

async function sendUnfinished(count) {
  const head =
    'POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
    `Content-Length: ${32 * MIB}\r\n\r\n{"messages":[{"role":"user","content":"`;
  const text = Buffer.alloc(31 * MIB, 'x');
  const bodies = Array.from({ length: count }, () =>
    exchange(server, [head, text], isSample ? 5000 : 10_000),
  );
  const answers = await Promise.all(bodies);
  return { statuses: answers.map((answer) => statusesIn(answer)[0] ?? 'held'), bytes: count * text.length };
}

function statusesIn(answer) {
  return [...answer.matchAll(/HTTP\/1\.1 (\w+)/g)].map((match) => match[1]);
}

async function sendMutations(count) {
  const random = seededRandom(Number(flags.seed));
  const statuses = [];
  let bytes = 0;
  let left = count;
  let notedMs = performance.now();
  const sending = Array.from({ length: SENDERS }, async (_, sender) => {
    const localAddress = addressOf(sender);
    while (left-- > 0 && performance.now() < endMs - RESERVE_MS) {
      const { path, body } = mutatedRequest(random);
      bytes += body.length;
      statuses.push(await send(server, { path, body, localAddress }));
      if (performance.now() < notedMs + 20_000) continue;
      notedMs = performance.now();
      console.error(`${statuses.length} of ${count} mutations`);
    }
  });
  await Promise.all(sending);
  if (statuses.length < count) console.error(`${statuses.length} of ${count} mutations: the time is over`);
  return { statuses, bytes };
}

/** A client requests eight long answers and reads none; then the server is told to stop. */
async function endWithDeafClient() {
  await witness.end();
  const body = JSON.stringify({
    model: 'demo',
    messages: [{ role: 'user', content: 'Tell me a story about a seal.' }],
    stream: true,
    n: 8,
    logprobs: true,
    top_logprobs: 20,
    // Long enough to fill what the connection can hold.
    max_tokens: 1950,
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'x', schema: { type: 'string', minLength: 1900 } },
    },
  });
  const socket = connect(server.port, '127.0.0.1');
  socket.on('error', () => {});
  socket.pause();
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await wait(1000);
  const began = performance.now();
  server.child.kill('SIGTERM');
  const status = await server.ended;
  check(status === 0, `the server ended with status ${status}`);
  socket.destroy();
  return performance.now() - began;
}

/** Asks a server with a key without it, in many ways. */
async function attackKey() {
  const guarded = await startServer({ model: flags.model, env: { MARKBASE_API_KEY: KEY } });
  const requests = keylessRequests(KEY);
  const statuses = await Promise.all(requests.map((request) => send(guarded, request)));
  check(
    statuses.every((status) => status === 401),
    `without the key: ${statuses}`,
  );
  const allowed = await send(guarded, keyRequest(KEY));
  check(allowed === 200, `with the key: ${allowed}`);
  const health = await send(guarded, { method: 'GET', path: '/health' });
  check(health === 200, `/health without the key: ${health}`);
  guarded.child.kill('SIGTERM');
  await guarded.ended;
  return { name: `${requests.length} requests without the key`, statuses: countOf(statuses) };
}

function countOf(statuses) {
  const counts = {};
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

function shown(statuses) {
  const counted = Object.entries(statuses).map(([status, count]) => `${count} × ${status}`);
  return counted.join(', ') || '–';
}

function lineOf({ name, statuses, bodyBytes, isLarge, tookMs, turnMs, healthMs, pauseMs, grownBytes }) {
  const perByte = isLarge ? (grownBytes / bodyBytes).toFixed(1) : '–';
  const row = [name, (bodyBytes / 1e6).toFixed(2), shown(statuses), (tookMs / 1000).toFixed(1)];
  return `| ${[...row, turnMs.toFixed(0), healthMs.toFixed(0), pauseMs.toFixed(0), (grownBytes / 1e6).toFixed(0), perByte].join(' | ')} |`;
}

function report() {
  const compared = rows.reduce((sum, row) => sum + row.compared, 0);
  const different = rows.reduce((sum, row) => sum + row.different, 0);
  const summary = { compared, different, drainMs, failures };
  if (flags.json) return console.log(JSON.stringify({ rows, keyRow, processes, ...summary }, null, 2));
  console.log(
    '| attack | body, MB | statuses | took, s | longest turn, CPU ms | longest /health, ms | longest pause of a stream, ms | memory, MB | per byte of body |',
  );
  console.log('|---|---|---|---|---|---|---|---|---|');
  for (const row of rows) console.log(lineOf(row));
  console.log(
    `\n* ${compared} answers of ${streamCount} streams during the attacks; ${different} differ from those without attacks.`,
  );
  const [quiet, ...attacked] = rows;
  const longest = (field) => attacked.reduce((a, b) => (b[field] > a[field] ? b : a));
  for (const [field, what] of [
    ['turnMs', 'turn of the event loop, in CPU time'],
    ['healthMs', 'response time of `/health`'],
    ['pauseMs', 'pause of a stream'],
  ]) {
    const worst = longest(field);
    const [most, without] = [worst[field].toFixed(0), quiet[field].toFixed(0)];
    console.log(`* Longest ${what}: ${most} ms (${worst.name}); without attack ${without} ms.`);
  }
  const large = attacked.filter(({ isLarge }) => isLarge);
  const perByte = ({ grownBytes, bodyBytes }) => grownBytes / bodyBytes;
  const hungry = large.reduce((a, b) => (perByte(b) > perByte(a) ? b : a));
  console.log(
    `* Most memory per byte of a body of at least 1 MiB: ${perByte(hungry).toFixed(1)} (${hungry.name}).`,
  );
  console.log(
    `* SIGTERM with a client that does not read: ended after ${(drainMs / 1000).toFixed(1)} s, of ${DRAIN_SECONDS} allowed.`,
  );
  console.log(`* ${keyRow.name}: ${shown(keyRow.statuses)}.`);
  for (const { name, failures: found } of processes)
    console.log(`* ${name}: ${found.length === 0 ? 'as expected' : found.join('; ')}.`);
  console.log(`* Not as expected: ${failures.length === 0 ? 'nothing' : failures.join('; ')}.`);
}
