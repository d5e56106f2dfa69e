import path from 'node:path';

const KEBAB = /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.(?:(?:golden\.)?test|test-d|config|d))?\.(?:ts|tsx|mts|mjs)$/;
const SNAKE = /^[a-z0-9]+(?:_[a-z0-9]+)*\.(?:cc|h|mm|metal)$/;
const FOREIGN = /\.(?:cpp|cxx|hpp|hh|m|cu|cjs|js|jsx)$/;

/** kebab-case TypeScript, snake_case C++ and Metal, one spelling of each extension. @type {import('./repository.mjs').Rule} */
export const fileNames = {
  name: 'file-names',
  check(repository) {
    const findings = [];
    for (const file of repository.files) {
      if (!/^(?:packages|apps|tools|bench)\//.test(file)) continue;
      // Headers that replace Apple's have Apple's names.
      if (/^packages\/metal-sim\/(?:native\/(?:foundation|metal)\/include|msl\/stage)\//.test(file)) continue;
      const name = path.posix.basename(file);
      if (/\.(?:ts|tsx|mts|mjs)$/.test(name) && !KEBAB.test(name)) {
        findings.push(`${file}: TypeScript files have kebab-case names`);
      } else if (/\.(?:cc|h|mm|metal)$/.test(name) && !SNAKE.test(name)) {
        findings.push(`${file}: C++ and Metal files have snake_case names`);
      } else if (FOREIGN.test(name)) {
        findings.push(`${file}: sources are .ts, .tsx, .mjs, .cc, .h, .mm or .metal`);
      }
    }
    return findings;
  },
};
