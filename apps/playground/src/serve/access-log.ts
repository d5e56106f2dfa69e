import type { LogFields, Logger } from '@markbase/server';

/** Writes a server's log to standard error, one JSON object per line. It never contains prompts or answers. */
export function accessLog(isVerbose: boolean): Logger {
  const write = (level: string, message: string, fields: LogFields, error?: unknown) => {
    const stack = error instanceof Error ? { error: error.stack } : {};
    const line = { time: new Date().toISOString(), level, message, ...fields, ...stack };
    process.stderr.write(`${JSON.stringify(line)}\n`);
  };
  return {
    info: (message, fields) => {
      if (isVerbose) write('info', message, fields);
    },
    warn: (message, fields) => write('warn', message, fields),
    error: (message, fields, error) => write('error', message, fields, error),
  };
}
