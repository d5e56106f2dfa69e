const RUNTIME = 'packages/metal-runtime';

/**
 * A kernel family is one name in every layer: parameters, op, host half, CPU kernel, conformance cases.
 *
 * @type {import('./repository.mjs').Rule}
 */
export const kernelFamilies = {
  name: 'kernel-families',
  check(repository) {
    const files = new Set(repository.files);
    const findings = [];
    for (const family of familiesOf(repository)) {
      const kebab = family.replaceAll('_', '-');
      /** @type {[what: string, isThere: boolean][]} */
      const members = [
        [
          `src/ops/${kebab}.ts`,
          files.has(`${RUNTIME}/src/ops/${kebab}.ts`) || isRecorded(repository, family),
        ],
        [`native/ops/${family}.cc`, files.has(`${RUNTIME}/native/ops/${family}.cc`)],
        [
          `native/backends/cpu/kernels/${family}.cc`,
          files.has(`${RUNTIME}/native/backends/cpu/kernels/${family}.cc`),
        ],
        [
          `conformance/${kebab}.ts`,
          files.has(`${RUNTIME}/conformance/${kebab}.ts`) || hasCases(repository, family),
        ],
      ];
      for (const [what, isThere] of members) {
        if (!isThere) findings.push(`${RUNTIME}/kernels/${family}_params.h: the family has no ${what}`);
      }
    }
    return findings;
  },
};

/**
 * Names of the families, from their parameter headers. `scalar_type.h` and other shared headers are none.
 *
 * @param {import('./repository.mjs').Repository} repository
 */
export function familiesOf(repository) {
  return repository.files.flatMap((file) => {
    const match = /^packages\/metal-runtime\/kernels\/([a-z0-9_]+)_params\.h$/.exec(file);
    return match ? [/** @type {string} */ (match[1])] : [];
  });
}

/**
 * True when TypeScript names the family where it records commands.
 *
 * @param {import('./repository.mjs').Repository} repository
 * @param {string} family
 */
function isRecorded(repository, family) {
  const mention = new RegExp(`['"\`]${family}['"\`]`);
  return repository.files.some(
    (file) =>
      /^packages\/metal-runtime\/src\/(?:ops|recorder)\//.test(file) && mention.test(repository.text(file)),
  );
}

/**
 * True when a file of conformance cases declares the family; close relatives may share a file.
 *
 * @param {import('./repository.mjs').Repository} repository
 * @param {string} family
 */
function hasCases(repository, family) {
  return repository.files.some(
    (file) =>
      file.startsWith(`${RUNTIME}/conformance/`) && repository.text(file).includes(`name: '${family}'`),
  );
}
