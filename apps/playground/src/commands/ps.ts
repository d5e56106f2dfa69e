import { Command } from 'commander';
import { printJson, printLines, table } from '../output.js';
import { type RunningServer, runningServers } from '../servers/running-servers.js';

/** How long a server may take to say that it is well. */
const ANSWER_MS = 2000;

type Answering = RunningServer & { readonly isAnswering: boolean };

/** `markbase ps`: lists running servers. */
export function psCommand(): Command {
  return new Command('ps')
    .description('List the servers of markbase that this user is running: "serve" and "playground".')
    .option('--json', 'print the result as JSON', false)
    .action(async ({ json }: { json: boolean }) => {
      const running = await runningServers();
      const servers = await Promise.all(
        running.map(async (server): Promise<Answering> => ({ ...server, isAnswering: await isWell(server) })),
      );
      if (json) printJson({ servers });
      else
        printLines(
          servers.length > 0 ? linesOf(servers) : ['no servers; start one with: markbase serve --model NAME'],
        );
    });
}

async function isWell({ url }: RunningServer): Promise<boolean> {
  // A wildcard address cannot be called.
  const address = url.replace(/\/\/(?:0\.0\.0\.0|\[::\])/, '//127.0.0.1');
  try {
    return (await fetch(`${address}/health`, { signal: AbortSignal.timeout(ANSWER_MS) })).ok;
  } catch {
    return false;
  }
}

function linesOf(servers: readonly Answering[]): string[] {
  return table([
    ['process', 'command', 'address', 'model', 'since', ''],
    ...servers.map(({ pid, command, url, model, startedAtMs, isAnswering }) => [
      String(pid),
      command,
      url,
      model ?? '',
      new Date(startedAtMs).toLocaleString('sv'),
      isAnswering ? '' : 'does not answer',
    ]),
  ]);
}
