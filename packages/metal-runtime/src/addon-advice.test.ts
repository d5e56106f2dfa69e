import { expect, it } from 'vitest';
import { addonAdvice, addonSystem } from './addon-advice.js';

it.each([
  {
    system: { platform: 'linux', arch: 'x64', glibc: '2.28' },
    expected: '@markbase/metal-runtime-linux-x64',
  },
  {
    system: { platform: 'linux', arch: 'arm64', glibc: '2.36' },
    expected: '@markbase/metal-runtime-linux-arm64',
  },
  {
    system: { platform: 'darwin', arch: 'arm64', glibc: null },
    expected: '@markbase/metal-runtime-darwin-arm64',
  },
])('names the package of $system.platform-$system.arch', ({ system, expected }) => {
  expect(addonAdvice(system)).toContain(`npm install ${expected}"`);
});

it.each([
  { system: { platform: 'win32', arch: 'x64', glibc: null }, expected: 'Windows is not supported' },
  { system: { platform: 'win32', arch: 'arm64', glibc: null }, expected: 'Windows is not supported' },
  {
    system: { platform: 'darwin', arch: 'x64', glibc: null },
    expected: 'Macs with Intel processors are not',
  },
  { system: { platform: 'linux', arch: 'x64', glibc: null }, expected: 'Systems with musl' },
  {
    system: { platform: 'linux', arch: 'riscv64', glibc: '2.36' },
    expected: 'linux-riscv64 is not supported',
  },
  { system: { platform: 'freebsd', arch: 'x64', glibc: null }, expected: 'freebsd-x64 is not supported' },
])('proposes no package for $system.platform-$system.arch', ({ system, expected }) => {
  const advice = addonAdvice(system);
  expect(advice).toContain(expected);
  expect(advice).not.toContain('@markbase/');
  expect(advice).toContain('Linux on x86-64 or ARM64 with glibc 2.28 or newer');
});

it.runIf(process.platform === 'linux')('knows the C library of this process', () => {
  expect(addonSystem().glibc).toMatch(/^2\.\d+$/);
});
