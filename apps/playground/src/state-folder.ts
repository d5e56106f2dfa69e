import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where this user's commands keep what is not configuration: `$XDG_STATE_HOME/markbase`, else `~/.local/state/markbase`. */
export function stateFolder(): string {
  return join(process.env.XDG_STATE_HOME || join(homedir(), '.local', 'state'), 'markbase');
}
