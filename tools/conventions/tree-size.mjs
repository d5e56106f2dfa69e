const MB = 1e6;

/** Limits in bytes of folders; '' is the whole tree. @type {readonly [folder: string, limitBytes: number][]} */
const FOLDERS = [
  ['', 36 * MB],
  ['fixtures/', 10 * MB],
  ['packages/demo-model/model/', 14 * MB],
  ['packages/demo-model/model-moe/', 6 * MB],
  ['packages/demo-model/held-out/', 0.7 * MB],
  ['docs/images/', 2 * MB],
];
const SHARD_BYTES = 8 * MB;
/** Folders for binary files. */
const BINARY_FOLDERS = [
  'fixtures/',
  'packages/demo-model/model/',
  'packages/demo-model/model-moe/',
  'packages/demo-model/held-out/',
  'docs/images/',
];

/** The repository stays small enough to clone in seconds, and holds no built files. @type {import('./repository.mjs').Rule} */
export const treeSize = {
  name: 'tree-size',
  check(repository) {
    const findings = [];
    for (const [folder, limitBytes] of FOLDERS) {
      const files = repository.files.filter((file) => file.startsWith(folder));
      const bytes = files.reduce((sum, file) => sum + repository.sizeBytes(file), 0);
      if (bytes >= limitBytes) {
        findings.push(`${folder || '.'}: ${megabytes(bytes)}, expected less than ${megabytes(limitBytes)}`);
      }
    }
    for (const file of repository.files) {
      const bytes = repository.sizeBytes(file);
      if (file.endsWith('.safetensors') && file.startsWith('packages/') && bytes >= SHARD_BYTES) {
        findings.push(`${file}: ${megabytes(bytes)}, expected shards below ${megabytes(SHARD_BYTES)}`);
      }
      if (!BINARY_FOLDERS.some((folder) => file.startsWith(folder)) && repository.isBinary(file)) {
        findings.push(`${file}: a binary file outside ${BINARY_FOLDERS.join(' and ')}`);
      }
    }
    return findings;
  },
};

/** @param {number} bytes */
function megabytes(bytes) {
  return `${(bytes / MB).toFixed(1)} MB`;
}
