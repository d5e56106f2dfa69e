import { InvalidArgumentError } from '@markbase/core';

/** Addresses that only this machine reaches. */
export const OWN_ADDRESSES: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost']);

/** Which option is to blame for a system error of listening, and what it should be. */
const FAULTS: Readonly<Record<string, { readonly option: 'port' | 'host'; readonly expected: string }>> = {
  EADDRINUSE: { option: 'port', expected: 'a free port, or 0 for any' },
  EACCES: { option: 'port', expected: 'a port that this user may listen on, such as one from 1024 on' },
  EADDRNOTAVAIL: { option: 'host', expected: 'an address of this machine' },
  ENOTFOUND: { option: 'host', expected: 'an address of this machine' },
  EAI_AGAIN: { option: 'host', expected: 'an address of this machine' },
  EINVAL: { option: 'host', expected: 'an address of this machine' },
};

/** The error for the option that has to change, for system errors that one is to blame for; other errors stay as they are. */
export function listenError(
  error: unknown,
  flags: { readonly port: number; readonly host: string },
): unknown {
  const fault = FAULTS[(error as NodeJS.ErrnoException | null)?.code ?? ''];
  if (!fault) return error;
  const { option, expected } = fault;
  return new InvalidArgumentError({
    argument: `--${option}`,
    expected,
    received: flags[option],
    cause: error,
  });
}
