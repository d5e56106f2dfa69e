// Reads and edits PTX, and runs its assembler.
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { BuildError } from '../../metal-sim/tools/targets.mjs';

const ENTRY = /^\.visible \.entry (\w+)\([\s\S]*?^}\n/gm;
const DIRECTIVE = /^\.(?:version|target|address_size) .*$/;
const VARIABLE = /^\.(?:extern \.)?(?:shared|global|const) [^=]*?([\w$]+)(?:\[\d*\])*(?: = .*)?;$/;

/**
 * One text per entry, which a driver compiles separately: the directives of the file, the variables that the entry uses, and the entry,
 * without comments and empty lines. Throws BuildError on anything else between entries.
 *
 * @param {string} ptx compiler output of one source
 * @returns {Record<string, string>}
 */
export function splitPtx(ptx) {
  const text = ptx
    .replace(/[ \t]*\/\/.*$/gm, '')
    .replace(/\n{2,}/g, '\n')
    .trimStart();
  const lines = text.replace(ENTRY, '').split('\n').filter(Boolean);
  const variables = lines.flatMap((line) => {
    const name = VARIABLE.exec(line)?.[1];
    if (name === undefined && !DIRECTIVE.test(line)) throw new BuildError(`PTX outside of entries: ${line}`);
    return name === undefined ? [] : [{ name, line }];
  });
  const directives = lines.filter((line) => DIRECTIVE.test(line));
  return Object.fromEntries(
    [...text.matchAll(ENTRY)].map(([entry, kernel = '']) => {
      const used = new Set(entry.match(/[\w$]+/g));
      const named = variables.filter(({ name }) => used.has(name)).map(({ line }) => line);
      return [kernel, `${[...directives, ...named].join('\n')}\n${entry}`];
    }),
  );
}

/** True for a source or a PTX text with wgmma, which only compute capability 9.0 has. @param {string} text */
export const usesWarpgroups = (text) => /multiply_warpgroup|\bwgmma\b/.test(text);

/** Kernels with limited registers: threads of a threadgroup, and threadgroups that must fit on a multiprocessor. */
const LIMITS = [
  { kernels: /^linear_cores(?:_row|_each|8|_each8)_/, threads: 256, threadgroups: 2 },
  { kernels: /^linear_stream/, threads: 512, threadgroups: 1 },
  { kernels: /^(?:linear_warpgroup(?:128|64)_q|moe_warpgroup)/, threads: 256, threadgroups: 2 },
  { kernels: /^linear_batch\d+x128_/, threads: 256, threadgroups: 2 },
  { kernels: /^moe_wide8$/, threads: 128, threadgroups: 4 },
  { kernels: /^moe_wide32$/, threads: 128, threadgroups: 3 },
  { kernels: /^linear_batch\d+x192_/, threads: 384, threadgroups: 1 },
  { kernels: /^linear_batch\d+x256_/, threads: 512, threadgroups: 1 },
  { kernels: /^linear_warpgroup(?:256|\d+_bf16)/, threads: 256, threadgroups: 1 },
];

/**
 * Adds what the compiler does not know about an entry: how many threadgroups run concurrently and, from sm_90 on, that later kernels may
 * start before it ends. A kernel without its own wait for earlier kernels gets one at its start.
 *
 * @param {string} ptx a text of `splitPtx`
 * @param {string} kernel
 * @param {string} architecture
 */
export function finishPtx(ptx, kernel, architecture) {
  let text = ptx;
  const limit = LIMITS.find(({ kernels }) => kernels.test(kernel));
  if (limit !== undefined) {
    const lines = `.maxntid ${limit.threads}, 1, 1\n.minnctapersm ${limit.threadgroups}`;
    text = text.replace(/^\)\n\{$/m, `)\n${lines}\n{`);
  }
  if (architecture === 'sm_80') return text;
  if (usesWarpgroups(text)) {
    // Only for 9.0; operands of the products are aligned to 1024 bytes.
    text = text
      .replace(/^\.version .*$/m, '.version 8.0')
      .replace(/^\.target .*$/m, `.target ${architecture}a`)
      .replace(/^\.extern \.shared \.align \d+/m, '.extern .shared .align 1024');
  }
  const begin = ['\tgriddepcontrol.launch_dependents;'];
  if (!text.includes('griddepcontrol.wait')) begin.push('\tgriddepcontrol.wait;');
  return text.replace(/^\{\n(?:\t\.\w.*\n)*/m, (head) => `${head}${begin.join('\n')}\n`);
}

/**
 * Reads a text of `splitPtx`: bytes of the entry's parameters, and of shared memory of fixed size.
 *
 * @param {string} ptx
 * @returns {{bytes: number[], sharedBytes: number}}
 */
export function describePtx(ptx) {
  const [, list = ''] = /^\.visible \.entry \w+\(([^)]*)\)/m.exec(ptx) ?? [];
  const bytes = [...list.matchAll(/\.param (?:\.align \d+ )?\.([a-z]+)(\d+) \w+(?:\[(\d+)\])?/g)].map(
    ([, , bits, count]) => (count === undefined ? Number(bits) / 8 : Number(count)),
  );
  // Arrays of bytes, and scalars into which the compiler turned small arrays; an array without a size is the dynamic memory of launches.
  let sharedBytes = 0;
  for (const [, bits, count = '1'] of ptx.matchAll(/^\s*\.shared .*?\.[a-z]+(\d+) [\w$]+(?:\[(\d+)\])?;/gm)) {
    sharedBytes += Math.ceil(((Number(bits) / 8) * Number(count)) / 16) * 16;
  }
  return { bytes, sharedBytes };
}

/** The assembler of the CUDA toolkit, or null. It checks PTX and counts registers; nothing requires it. */
export function findAssembler() {
  const program = process.env.PTXAS ?? 'ptxas';
  return spawnSync(program, ['--version']).status === 0 ? program : null;
}

/**
 * Assembles the PTX of one entry and discards the code. Resolves with the output of ptxas; rejects with its errors.
 *
 * @param {string} assembler
 * @param {string} file
 * @param {string} architecture
 */
export async function assemble(assembler, file, architecture) {
  const target = usesWarpgroups(readFileSync(file, 'utf8')) ? `${architecture}a` : architecture;
  const args = ['-v', `-arch=${target}`, file, '-o', '/dev/null'];
  const { stderr } = await promisify(execFile)(assembler, args, { maxBuffer: 2 ** 20 });
  /** @param {RegExp} pattern */
  const number = (pattern) => Number(pattern.exec(stderr)?.[1] ?? 0);
  return {
    registers: number(/Used (\d+) registers/),
    stackBytes: number(/(\d+) bytes stack frame/),
    spillBytes: number(/(\d+) bytes spill stores/) + number(/(\d+) bytes spill loads/),
    sharedBytes: number(/(\d+) bytes smem/),
    // Warns if ptxas serialises wgmma.
    warnings: stderr.match(/\(C75\d\d\) .*/g) ?? [],
  };
}
