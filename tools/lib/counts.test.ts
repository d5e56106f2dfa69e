import { describe, expect, it } from 'vitest';
import { countCtest } from './ctest-counts.mjs';
import { commandsOf, examplesOf } from './readme-example.mjs';
import { addCounts, describeCounts } from './report.mjs';
import { countVitest } from './vitest-counts.mjs';

describe('countVitest', () => {
  const file = (status: string, ...tests: string[]) => ({
    status,
    assertionResults: tests.map((outcome) => ({ status: outcome })),
  });

  it('adds up the tests of all files', () => {
    const report = { testResults: [file('passed', 'passed', 'skipped'), file('failed', 'passed', 'failed')] };
    expect(countVitest(report, 1)).toEqual({ passed: 2, failed: 1, skipped: 1 });
  });

  it('counts a file that does not load, and an error outside tests, as failures', () => {
    expect(countVitest({ testResults: [file('failed')] }, 1)).toEqual({ passed: 0, failed: 1, skipped: 0 });
    expect(countVitest({ testResults: [file('passed', 'passed')] }, 1).failed).toBe(1);
    expect(countVitest(null, 1).failed).toBe(1);
  });
});

describe('countCtest', () => {
  it('uses the counts that programs print, and counts programs without counts as one test', () => {
    const output = [
      '1: linear_core: 40 passed, 0 failed',
      '1/3 Test #1: linear_core_test ..........   Passed    1.20 sec',
      '2: fine',
      '2/3 Test #2: pool_test ................   Passed    0.10 sec',
      '3/3 Test #3: rope_test ................***Failed    0.10 sec',
    ].join('\n');
    expect(countCtest(output)).toEqual({ passed: 41, failed: 1, skipped: 0 });
  });

  it('counts a crash that follows the counts', () => {
    const output =
      '1: 3 passed, 0 failed, 2 skipped\n1/1 Test #1: a_test ....***Exception: SegFault  0.1 sec\n';
    expect(countCtest(output)).toEqual({ passed: 3, failed: 1, skipped: 2 });
  });
});

it('describes a sum in one plain line', () => {
  const sum = addCounts([
    { passed: 1, failed: 0, skipped: 2 },
    { passed: 3, failed: 1, skipped: 0 },
  ]);
  expect(describeCounts(sum)).toBe('4 passed, 1 failed, 2 skipped');
});

it('finds the TypeScript examples of a README', () => {
  const markdown = 'Text\n```sh\nnpm i\n```\n```ts\nconst a = 1;\n```\n\n```ts\nb();\n```\n';
  expect(examplesOf(markdown)).toEqual(['const a = 1;\n', 'b();\n']);
  expect(commandsOf(markdown, /^npm/)).toEqual(['npm i']);
  expect(commandsOf(markdown, /^npx/)).toEqual([]);
});
