import { homedir } from 'node:os';
import { join } from 'node:path';

/** A path whose `~` at the start, which a shell leaves in `--model=~/x` and in config files, is the home folder. */
export function homePath(path: string): string {
  return path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : path;
}
