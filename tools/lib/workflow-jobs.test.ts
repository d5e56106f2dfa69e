import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { linuxJobs } from './workflow-jobs.mjs';

let folder: string | undefined;
afterEach(() => {
  if (folder !== undefined) rmSync(folder, { recursive: true });
  folder = undefined;
});

function jobsOf(text: string) {
  folder = mkdtempSync(path.join(tmpdir(), 'markbase-workflow-'));
  const file = path.join(folder, 'a.yml');
  writeFileSync(file, text);
  return linuxJobs(file);
}

it('fills in the matrix, and keeps the entry of this processor', () => {
  const jobs = jobsOf(`
jobs:
  mac:
    runs-on: macos-15
    steps: []
  native:
    strategy:
      matrix:
        include:
          - { platform: linux-x64, runner: ubuntu-24.04 }
          - { platform: linux-arm64, runner: ubuntu-24.04-arm }
    runs-on: \${{ matrix.runner }}
    container: { image: 'node:20-bookworm' }
    steps:
      - uses: owner/name@0123 # v1.0.0
        with: { path: 'a/\${{ matrix.platform }}' }
      - run: make
        env: { A: 1 }
        if: failure()
`);
  const platform = `linux-${process.arch}`;
  expect(jobs).toEqual([
    {
      name: 'native',
      image: 'node:20-bookworm',
      steps: [
        {
          title: 'owner/name',
          run: null,
          uses: 'owner/name',
          inputs: { path: `a/${platform}` },
          env: {},
          condition: null,
        },
        { title: 'make', run: 'make', uses: null, inputs: {}, env: { A: '1' }, condition: 'failure()' },
      ],
    },
  ]);
});

it('refuses a Linux job that runs outside a container, because its tools are unknown', () => {
  const text = 'jobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps: []\n';
  if (process.arch === 'x64')
    expect(() => jobsOf(text)).toThrow('job a runs on ubuntu-24.04 without a container');
  else expect(jobsOf(text)).toEqual([]);
});

it.each(['ci.yml', 'release.yml'])(
  'every Linux job of %s runs in Debian 12 and installs its tools first',
  (name) => {
    const jobs = linuxJobs(path.join('.github/workflows', name));
    expect(jobs.length).toBeGreaterThan(0);
    for (const { image, steps } of jobs) {
      expect(image).toMatch(/^node:\d+-bookworm$/);
      const commands = steps.flatMap(({ run }) => (run === null ? [] : [run]));
      const tools = commands.findIndex((run) => run.startsWith('bash .ci/install-tools.sh'));
      const first = commands.findIndex((run) => /\bpnpm@|^node |\.ci\/run/.test(run));
      expect(tools).toBeGreaterThanOrEqual(0);
      expect(tools).toBeLessThan(first);
    }
  },
);
