import { spawn } from 'node:child_process';

/** Opens an address in the person's browser, where there is one; nothing happens otherwise. */
export function openBrowser(address: string): void {
  const [program, ...args] = commandFor(process.platform, address);
  const child = spawn(program!, args, { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}

function commandFor(platform: NodeJS.Platform, address: string): string[] {
  if (platform === 'darwin') return ['open', address];
  if (platform === 'win32') return ['cmd', '/c', 'start', '', address];
  return ['xdg-open', address];
}
