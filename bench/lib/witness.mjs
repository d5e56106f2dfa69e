// Runs alongside the attacks, in a separate thread: asks for /health, reads the memory of the server, and streams greedy answers.
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

const FIELDS = ['healthMs', 'pauseMs', 'bytes', 'compared', 'different', 'failed', 'tokens'];
const PROBE_MS = 20;
const PROMPTS = 8;
const ANSWER_TOKENS = 24;

/** Starts watching a server. `take` gives the numbers since the last call; `end` waits for the running streams. */
export async function startWitness(server, streams) {
  const numbers = new Float64Array(new SharedArrayBuffer(FIELDS.length * 8));
  const worker = new Worker(new URL(import.meta.url), {
    workerData: { port: server.port, pid: server.child.pid, streams, numbers },
  });
  const failure = new Promise((_, reject) => worker.on('error', reject));
  const message = () => Promise.race([new Promise((resolve) => worker.once('message', resolve)), failure]);
  await message();
  const take = () => {
    const taken = Object.fromEntries(FIELDS.map((field, index) => [field, numbers[index]]));
    numbers.fill(0);
    return taken;
  };
  const end = async () => {
    const ended = message();
    worker.postMessage('end');
    await ended;
    await worker.terminate();
  };
  return { take, end };
}

async function watch({ port, pid, streams, numbers }) {
  const most = (field, value) => {
    const index = FIELDS.indexOf(field);
    numbers[index] = Math.max(numbers[index], value);
  };
  const add = (field, value = 1) => {
    numbers[FIELDS.indexOf(field)] += value;
  };
  const alone = [];
  for (let prompt = 0; prompt < PROMPTS; prompt++) alone.push((await streamed(port, prompt, () => {})).text);
  let isOver = false;
  const probing = (async () => {
    while (!isOver) {
      const began = performance.now();
      await health(port);
      most('healthMs', performance.now() - began);
      most('bytes', residentBytes(pid));
      await wait(PROBE_MS);
    }
  })();
  const streaming = Array.from({ length: streams }, async (_, index) => {
    while (!isOver) {
      const { text, status } = await streamed(port, index, (pauseMs) => {
        add('tokens');
        most('pauseMs', pauseMs);
      });
      if (status === 429 || status === 503) await wait(100);
      else if (status !== 200) add('failed');
      else {
        add('compared');
        if (text !== alone[index % PROMPTS]) add('different');
      }
    }
  });
  parentPort.on('message', async () => {
    isOver = true;
    await Promise.all([probing, ...streaming]);
    parentPort.postMessage('ended');
  });
  parentPort.postMessage('started');
}

const probeAgent = new Agent({ keepAlive: true, maxSockets: 1 });

function health(port) {
  return new Promise((resolve) => {
    const sent = request({ host: '127.0.0.1', port, path: '/health', agent: probeAgent }, (response) => {
      response.on('end', resolve).resume();
    });
    sent.on('error', () => resolve());
    sent.end();
  });
}

/** One greedy answer; each stream is a separate client. `onEvent` gets the time since the previous event. */
function streamed(port, index, onEvent) {
  const body = JSON.stringify({
    model: 'demo',
    messages: [{ role: 'user', content: `Tell me a story about a fox. ${index % PROMPTS}` }],
    temperature: 0,
    max_tokens: ANSWER_TOKENS,
    stream: true,
  });
  return new Promise((resolve) => {
    let text = '';
    let pending = '';
    let last = null;
    const sent = request({
      method: 'POST',
      host: '127.0.0.1',
      port,
      path: '/v1/chat/completions',
      agent: false,
      ...(process.platform === 'linux' && { localAddress: `127.0.1.${1 + index}` }),
      headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
    });
    sent.on('error', () => resolve({ status: 'broken', text }));
    sent.on('response', (response) => {
      response.setEncoding('utf8');
      response.on('data', (data) => {
        pending += data;
        const frames = pending.split('\n\n');
        pending = frames.pop();
        for (const frame of frames) {
          if (!frame.startsWith('data: {')) continue;
          const added = JSON.parse(frame.slice('data: '.length)).choices?.[0]?.delta.content;
          if (!added) continue;
          text += added;
          const now = performance.now();
          if (last !== null) onEvent(now - last);
          last = now;
        }
      });
      response.on('end', () => resolve({ status: response.statusCode, text }));
      response.on('error', () => resolve({ status: 'broken', text }));
    });
    sent.end(body);
  });
}

function residentBytes(pid) {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

if (!isMainThread) await watch(workerData);
