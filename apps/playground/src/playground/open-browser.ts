import { spawn } from 'node:child_process';

/** Opens a URL in the user's browser; does nothing if there is none. */
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
