import { docComments } from './doc-comments.mjs';
import { exportedMembers } from './exported-members.mjs';
import { fileLength } from './file-length.mjs';
import { fileNames } from './file-names.mjs';
import { importCircles } from './import-circles.mjs';
import { kernelFamilies } from './kernel-families.mjs';
import { leftovers } from './leftovers.mjs';
import { machinePaths } from './machine-paths.mjs';
import { nativeLayers } from './native-layers.mjs';
import { packageImports } from './package-imports.mjs';
import { packageManifests } from './package-manifests.mjs';
import { pinnedActions } from './pinned-actions.mjs';
import { registryHosts } from './registry-hosts.mjs';
import { rootLayout } from './root-layout.mjs';
import { treeSize } from './tree-size.mjs';
import { typedErrors } from './typed-errors.mjs';
import { unusedExports } from './unused-exports.mjs';

/** All conventions that a tool can check, in the order in which they are reported. @type {readonly import('./repository.mjs').Rule[]} */
export const rules = [
  packageImports,
  packageManifests,
  nativeLayers,
  kernelFamilies,
  typedErrors,
  docComments,
  exportedMembers,
  fileNames,
  fileLength,
  leftovers,
  machinePaths,
  registryHosts,
  pinnedActions,
  rootLayout,
  treeSize,
  importCircles,
  unusedExports,
];
