import { spawn } from 'node:child_process';
import { request } from 'node:http';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';

const CLI = fileURLToPath(new URL('../../apps/playground/dist/cli.js', import.meta.url));
/** Attacks come from a different address than the streams that run during them, like those of another client. */
const ATTACKER = addressOf(0);

const METER = new URL('turn-meter.mjs', import.meta.url);

/** The address of one of many clients on this machine; except on Linux, all clients share one address. */
export function addressOf(client) {
  return process.platform === 'linux' ? `127.0.0.${2 + client}` : '127.0.0.1';
}

/** Starts `markbase serve` and waits until it listens. */
export async function startServer({ model, drainSeconds = 2, args = [], env = {} }) {
  const fixed = ['serve', '--model', model, '--name', 'demo', '--port', '0', '--threads', '1'];
  const child = spawn(process.execPath, [CLI, ...fixed, '--drain', `${drainSeconds}`, ...args], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: { ...process.env, NODE_OPTIONS: `--import=${METER}`, ...env },
  });
  const kill = () => child.kill('SIGKILL');
  process.on('exit', kill);
  const ended = new Promise((resolve) => child.on('exit', (status) => resolve(status)));
  const url = await new Promise((resolve, reject) => {
    child.stdout.on('data', (text) => {
      const address = /at (http:\S+)\/v1/.exec(`${text}`)?.[1];
      if (address) resolve(address);
    });
    ended.then(() => reject(new TypeError('the server ended')));
  });
  /** The longest turn of the event loop since the last call, in milliseconds of CPU time. */
  const takeTurnMs = async () => {
    const taken = new Promise((resolve) => child.once('message', resolve));
    child.send('take');
    return taken;
  };
  return { child, url, port: Number(new URL(url).port), ended, takeTurnMs };
}

/** Sends a request; resolves with its status, or with "broken" or "no answer". */
export function send(
  server,
  { path, body = '', headers = {}, method = 'POST', localAddress = ATTACKER, patienceMs = 60_000 },
) {
  return new Promise((resolve) => {
    let status = null;
    const sent = request({
      method,
      host: '127.0.0.1',
      port: server.port,
      path,
      localAddress,
      // A separate connection, so that a broken one is not taken for that of another request.
      agent: false,
      headers: {
        'content-type': 'application/json',
        ...(method === 'POST' && { 'content-length': Buffer.byteLength(body) }),
        ...headers,
      },
    });
    const timer = setTimeout(() => sent.destroy(new Error('no answer')), patienceMs);
    const settle = (result) => {
      clearTimeout(timer);
      resolve(result);
    };
    sent.on('response', (response) => {
      status = response.statusCode;
      let end = '';
      response.on('data', (data) => {
        end = (end + data.toString('latin1')).slice(-4096);
      });
      // A late error comes as the body of a 200, or as the last event of a stream.
      response.on('end', () =>
        settle(status === 200 && /"error":\s*\{/.test(end) ? '200 with an error' : status),
      );
      response.on('error', () => settle(`${status}, then broken`));
    });
    sent.on('error', (error) => {
      if (status === null) settle(error.message === 'no answer' ? 'no answer' : 'broken');
    });
    sent.end(body);
  });
}

/** Sends raw bytes; resolves with what came back until the connection was closed, or until the time is over. */
export function exchange(server, chunks, milliseconds) {
  const socket = connect({ port: server.port, host: '127.0.0.1', localAddress: ATTACKER });
  let answer = '';
  let isBroken = false;
  socket.on('error', () => {
    isBroken = true;
  });
  socket.on('data', (data) => {
    answer += data.toString('latin1');
  });
  for (const chunk of chunks) socket.write(chunk, 'latin1');
  return new Promise((resolve) => {
    const timer = setTimeout(() => socket.destroy(), milliseconds);
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(answer === '' && isBroken ? 'HTTP/1.1 broken' : answer);
    });
  });
}
