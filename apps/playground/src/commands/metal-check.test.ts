import { expect, test } from 'vitest';
import { adviceForMac } from './metal-check.js';

const mac = { arch: 'arm64', release: '24.1.0', reason: null };

test('has no advice if the GPU runs the kernels', () => {
  expect(adviceForMac(mac)).toBeNull();
});

test.each([
  [{ arch: 'x64' }, 'install Node for ARM64'],
  [{ release: '22.6.0' }, 'macOS 14'],
  [{ reason: 'this build has the backends: cpu' }, 'xcode-select'],
  [{ reason: 'Apple Paravirtual device is not of GPU family Apple 7 or newer' }, 'virtual machine'],
])('says what is missing: %o', (differs, advice) => {
  expect(adviceForMac({ ...mac, reason: 'it is not there', ...differs })).toContain(advice);
});
