import { spawn } from 'node:child_process';

/** Runs a Node script and parses its standard output; its standard error is passed on. */
export async function runJson(script, args) {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part) => {
    text += part;
  });
  const status = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve(code ?? signal));
  });
  if (status !== 0) throw new Error(`${script} ${args.join(' ')} ended with ${status}`);
  return JSON.parse(text);
}
