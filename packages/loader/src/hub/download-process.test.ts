import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { startHub } from '../../../../fixtures/hub-server.js';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { rawSafetensors } from '../../test/raw-safetensors.js';
import { E2B } from '../../test/released-configs.js';

const root = temporaryFolder();
const PACKAGE = join(dirname(fileURLToPath(import.meta.url)), '../..');
const SIZE = 400_000;
const HEADER = `{"model.norm.weight":{"dtype":"U8","shape":[${SIZE}],"data_offsets":[0,${SIZE}]}}`;
const WEIGHTS = Buffer.from(rawSafetensors(HEADER, randomBytes(SIZE)));
const FILES = { 'config.json': JSON.stringify(E2B), 'model.safetensors': WEIGHTS };

const CHILD = `
  import { downloadCheckpoint } from '@markbase/loader';
  const [endpoint, cacheDir] = process.argv.slice(1);
  const made = await downloadCheckpoint('org/name', {
    endpoint, cacheDir, token: null, retryDelayMs: 10,
    onProgress: ({ phase, doneBytes }) => process.stdout.write(phase + ' ' + doneBytes + '\\n'),
  });
  process.stdout.write('got ' + made.receivedBytes + '\\n');
`;

/** A process that downloads; `until` waits for a line of its output. */
function startChild(endpoint: string, cacheDir: string) {
  const child: ChildProcess = spawn(
    process.execPath,
    ['--input-type=module', '-e', CHILD, endpoint, cacheDir],
    {
      cwd: PACKAGE,
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let output = '';
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const until = (pattern: RegExp) =>
    new Promise<RegExpExecArray | null>((resolve) => {
      const look = () => {
        const match = pattern.exec(output);
        if (match !== null) resolve(match);
      };
      child.stdout!.on('data', (text: Buffer) => {
        output += text.toString();
        look();
      });
      look();
      void ended.then(() => resolve(pattern.exec(output)));
    });
  return { child, ended, until };
}

it('two processes: one downloads, the other waits and finds everything complete', async () => {
  const hub = await startHub(FILES);
  const cacheDir = join(root, 'two');
  const made = await Promise.all(
    [startChild(hub.endpoint, cacheDir), startChild(hub.endpoint, cacheDir)].map(({ until }) =>
      until(/got (\d+)/),
    ),
  );
  const received = made.map((match) => Number(match?.[1])).sort((a, b) => a - b);
  expect(received).toEqual([0, WEIGHTS.length + FILES['config.json'].length]);
  expect(hub.seen.filter(({ path }) => path.endsWith('.safetensors'))).toHaveLength(1);
});

it('a killed process: the next one breaks its lock and resumes where it stopped', async () => {
  const hub = await startHub(FILES);
  const cacheDir = join(root, 'killed');
  hub.misbehave = ({ path, count, content, response }) => {
    if (path !== 'model.safetensors' || count > 0) return false;
    // The rest never arrives.
    response.writeHead(200, { 'content-length': content.length }).write(content.subarray(0, 200_000));
    return true;
  };
  const first = startChild(hub.endpoint, cacheDir);
  await first.until(/downloading 20\d{4}/);
  first.child.kill('SIGKILL');
  await first.ended;
  const received = Number((await startChild(hub.endpoint, cacheDir).until(/got (\d+)/))?.[1]);
  expect(received).toBeLessThan(WEIGHTS.length - 100_000);
  expect(hub.seen.filter(({ path }) => path.endsWith('.safetensors'))[1]?.range).toMatch(
    /^bytes=[12]\d{5}-$/,
  );
  const snapshots = join(cacheDir, 'models--org--name', 'snapshots');
  const [commit] = [await readFile(join(cacheDir, 'models--org--name', 'refs', 'main'), 'utf8')];
  expect(await readFile(join(snapshots, commit, 'model.safetensors'))).toEqual(WEIGHTS);
});
