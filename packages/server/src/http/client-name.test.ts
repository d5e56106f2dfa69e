import { expect, it } from 'vitest';
import { clientName } from './client-name.js';

it.each([
  [undefined, 'local'],
  ['127.0.0.1', '127.0.0.1'],
  ['::1', '::1'],
  ['::ffff:10.0.0.1', '10.0.0.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:db8::9', '2001:db8:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
])('the client of %s is %s', (address, name) => {
  expect(clientName(address)).toBe(name);
});
