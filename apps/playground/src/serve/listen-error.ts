import { InvalidArgumentError } from '@markbase/core';

/** Addresses that only this machine can reach. */
export const OWN_ADDRESSES: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost']);

/** The option that causes a system error of `listen`, and the values that would work. */
const FAULTS: Readonly<
  Record<string, { readonly option: 'port' | 'host'; readonly expected: string; readonly hint?: string }>
> = {
  EADDRINUSE: {
    option: 'port',
    expected: 'a free port, or 0 for any',
    hint: 'Another program listens on it; "markbase ps" lists servers of markbase',
  },
  EACCES: { option: 'port', expected: 'a port that this user may listen on, such as 1024 or above' },
  EADDRNOTAVAIL: { option: 'host', expected: 'an address of this machine' },
  ENOTFOUND: { option: 'host', expected: 'an address of this machine' },
  EAI_AGAIN: { option: 'host', expected: 'an address of this machine' },
  EINVAL: { option: 'host', expected: 'an address of this machine' },
};

/** Turns system errors that an option causes into errors that name the option; other errors are returned unchanged. */
export function listenError(
  error: unknown,
  flags: { readonly port: number; readonly host: string },
): unknown {
  const fault = FAULTS[(error as NodeJS.ErrnoException | null)?.code ?? ''];
  if (!fault) return error;
  const { option, expected, hint } = fault;
  return new InvalidArgumentError({
    argument: `--${option}`,
    expected,
    received: flags[option],
    ...(hint !== undefined && { hint }),
    cause: error,
  });
}
