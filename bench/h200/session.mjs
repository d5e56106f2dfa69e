// Shared by the parts: child processes with a time limit, and the file of results.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = path.dirname(fileURLToPath(import.meta.url));
const KEPT_CHARACTERS = 2000;

/** Formats bytes and rates. */
export const giga = (value) => `${(value / 1e9).toFixed(value < 1e11 ? 1 : 0)} GB`;

/** Marks the environment of a program and its children, because a sanitizer starts children in their own process groups. */
const MARK = 'MARKBASE_H200_TASK';
let tasks = 0;

function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/** Ends a program and its descendants. */
function endAll({ pid, task }) {
  if (pid !== undefined) kill(-pid);
  if (!existsSync('/proc')) return;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    let environment = '';
    try {
      environment = readFileSync(`/proc/${name}/environ`, 'latin1');
    } catch {
      // It has ended, or belongs to another user.
    }
    if (environment.split('\0').includes(`${MARK}=${task}`)) kill(Number(name));
  }
}

/** One run of the script. */
export class Session {
  constructor({ about, out, root, work, isTiny, limitSeconds, options }) {
    this.about = about;
    this.out = out;
    this.root = root;
    this.work = work;
    this.isTiny = isTiny;
    this.limitSeconds = limitSeconds;
    this.options = options;
    this.run = path.join(dist, '..');
    this.jobs = Math.max(1, Math.min(8, Math.floor(availableParallelism() / 2)));
    this.env = {
      ...process.env,
      CUDA_CACHE_PATH: path.join(work, 'cuda-cache'),
      CUDA_CACHE_MAXSIZE: String(4 * 2 ** 30),
      // The user's config file must not affect the measurements.
      MARKBASE_CONFIG: path.join(work, 'config.json'),
    };
    mkdirSync(work, { recursive: true });
    writeFileSync(this.env.MARKBASE_CONFIG, '{}\n');
    this.children = new Set();
    // Ctrl-C in the terminal does not reach their process groups.
    for (const [signal, status] of [
      ['SIGINT', 130],
      ['SIGTERM', 143],
    ]) {
      process.once(signal, () => {
        for (const child of this.children) endAll(child);
        process.exit(status);
      });
    }
    this.startPart();
  }

  startPart() {
    this.deadline = Date.now() + 1000 * this.limitSeconds;
  }

  /** Seconds left for this part. */
  get secondsLeft() {
    return Math.max(0, (this.deadline - Date.now()) / 1000);
  }

  say(line) {
    process.stdout.write(`${line}\n`);
  }

  /**
   * Runs a program until it ends or is killed: at the part's limit, or after `idleSeconds` without output. Never rejects.
   * `onLine` is called with lines that are JSON objects.
   *
   * @returns {Promise<{ status: number | string, stdout: string, stderr: string, failure: string | null }>}
   */
  execute(command, args, { env = {}, idleSeconds = Number.POSITIVE_INFINITY, onLine } = {}) {
    tasks += 1;
    const task = `${process.pid}-${tasks}`;
    const child = spawn(command, args, {
      detached: true,
      env: { ...this.env, ...env, [MARK]: task },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.task = task;
    this.children.add(child);
    const output = { stdout: '', stderr: '' };
    let rest = '';
    let late = null;
    let timer;
    const watch = () => {
      clearTimeout(timer);
      const limit = Math.min(idleSeconds, this.secondsLeft);
      const give = () => {
        late =
          limit < idleSeconds
            ? 'the time limit of the part was reached'
            : `it printed nothing for ${idleSeconds} s`;
        endAll(child);
      };
      timer = setTimeout(give, 1000 * limit);
    };
    watch();
    child.stdout.setEncoding('utf8').on('data', (text) => {
      output.stdout += text;
      watch();
      if (!onLine) return;
      const lines = (rest + text).split('\n');
      rest = lines.pop();
      // A library may print a warning between the lines of JSON.
      for (const line of lines) if (line.startsWith('{')) onLine(line);
    });
    child.stderr.setEncoding('utf8').on('data', (text) => {
      output.stderr = (output.stderr + text).slice(-KEPT_CHARACTERS);
    });
    return new Promise((resolve) => {
      const end = (status, reason) => {
        clearTimeout(timer);
        this.children.delete(child);
        const failure =
          late ?? reason ?? (status === 0 ? null : `${lastLine(output.stderr)} (status ${status})`);
        resolve({ status, ...output, failure });
      };
      child.on('error', (error) => end('none', error.message));
      child.on('close', (code, signal) => end(code ?? signal));
    });
  }

  /** Runs the `markbase` command. */
  markbase(args, options) {
    return this.execute(process.execPath, [path.join(dist, 'cli.mjs'), ...args], options);
  }

  /** Runs the `markbase` command for its JSON: `{ value, failure }`. */
  async json(args, options) {
    const { stdout, failure } = await this.markbase([...args, '--json'], options);
    try {
      return { value: JSON.parse(stdout), failure };
    } catch {
      return { value: null, failure: failure ?? 'it printed no JSON' };
    }
  }

  /** Runs a task of worker.mjs; `prefix` is a command that runs it, such as a sanitizer. */
  worker(task, parameters, { prefix = [], ...options } = {}) {
    const script = [path.join(dist, 'worker.mjs'), task, JSON.stringify(parameters)];
    const [command, ...args] = [...prefix, process.execPath, ...script];
    return this.execute(command, args, options);
  }

  /** Runs at most `count` of the tasks at a time. */
  async inParallel(count, tasks) {
    const waiting = [...tasks];
    const take = async () => {
      for (let task = waiting.shift(); task; task = waiting.shift()) await task();
    };
    await Promise.all(Array.from({ length: count }, take));
  }

  readResults() {
    try {
      return JSON.parse(readFileSync(this.out, 'utf8'));
    } catch {
      return { parts: {} };
    }
  }

  /** Adds a part's results to those of the file. */
  record(name, result) {
    const results = this.readResults();
    results.parts[name] = result;
    mkdirSync(path.dirname(this.out), { recursive: true });
    writeFileSync(`${this.out}.tmp`, `${JSON.stringify(results, null, 1)}\n`);
    renameSync(`${this.out}.tmp`, this.out);
  }
}

function lastLine(text) {
  return text.trim().split('\n').at(-1) || 'it printed nothing';
}
