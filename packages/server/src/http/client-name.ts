import { isIPv6 } from 'node:net';

const NETWORK_GROUPS = 4;

/**
 * Identifies a client: by its IPv4 address, or by its /64 network in IPv6, where one machine may use any address. Requests
 * without a connection count as one client's.
 */
export function clientName(address: string | undefined): string {
  if (address === undefined) return 'local';
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  if (!isIPv6(plain) || plain === '::1') return plain;
  const [head = '', tail] = plain.split('::');
  const first = head.split(':').filter((group) => group !== '');
  const last = (tail ?? '').split(':').filter((group) => group !== '');
  const zeros = tail === undefined ? 0 : 8 - first.length - last.length;
  const groups = [...first, ...new Array<string>(Math.max(zeros, 0)).fill('0'), ...last];
  return `${groups.slice(0, NETWORK_GROUPS).join(':')}::/64`;
}
