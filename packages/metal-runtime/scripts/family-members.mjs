/** Files that every family has, by its name. @type {readonly ((family: string) => string)[]} */
export const FAMILY_MEMBERS = [
  (family) => `${family}_params.h`,
  (family) => `${family}.metal`,
  () => 'node.ts',
  () => 'oracle.ts',
  () => 'oracle.test.ts',
  () => 'cpu.cc',
  () => 'plan.cc',
];
