// Replaces vitest in the bundle: tests are collected, and `runTests` runs them one by one.
import { chai, GLOBAL_EXPECT, JestChaiExpect, setState } from '@vitest/expect';

chai.use(JestChaiExpect);
// Differences are one long line and must not be truncated.
chai.config.truncateThreshold = 0;

/** Like vitest's, without snapshots and mocks. */
export const expect = (value, message) => chai.expect(value, message);
globalThis[GLOBAL_EXPECT] = expect;
setState({}, expect);

const tests = [];
const names = [];
const before = [];
const afterwards = [];

const bodyOf = (args) => args.findLast((argument) => typeof argument === 'function');
const titleOf = (template, value) => template.replaceAll(/\$(\w+)/g, (_, key) => String(value?.[key]));

/** Collects a test. */
export function it(name, ...args) {
  tests.push({ name: [...names, name].join(' > '), run: bodyOf(args) });
}
it.skip = (name, ...args) => {
  tests.push({ name: [...names, name].join(' > '), run: bodyOf(args), isSkipped: true });
};

/** Prefixes the names of the tests that its body collects. */
export function describe(name, ...args) {
  names.push(name);
  bodyOf(args)();
  names.pop();
}
describe.skip = () => {};

for (const collect of [it, describe]) {
  collect.each = (values) => (template, body) => {
    for (const value of values) collect(titleOf(template, value), () => body(value));
  };
  collect.runIf = (condition) => (condition ? collect : collect.skip);
  collect.skipIf = (condition) => (condition ? collect.skip : collect);
}

export { it as test };

/** Runs before the first test. */
export function beforeAll(body) {
  before.push(body);
}

/** Runs after the last test. */
export function afterAll(body) {
  afterwards.push(body);
}

/** Runs the collected tests; calls `report({ name, error })` for each: error is null if it passed, undefined if skipped. */
export async function runTests(report) {
  for (const body of before.splice(0)) await body();
  for (const { name, run, isSkipped } of tests.splice(0)) {
    if (isSkipped) {
      report({ name });
      continue;
    }
    try {
      await run();
      report({ name, error: null });
    } catch (error) {
      report({ name, error });
    }
  }
  for (const body of afterwards.splice(0)) await body();
}
