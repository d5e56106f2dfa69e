// What PTX and its assembler say about kernels.
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { BuildError } from '../../metal-sim/tools/targets.mjs';

const ENTRY = /^\.visible \.entry (\w+)\([\s\S]*?^}\n/gm;
const DIRECTIVE = /^\.(?:version|target|address_size) .*$/;
const VARIABLE = /^\.(?:extern \.)?(?:shared|global|const) [^=]*?([\w$]+)(?:\[\d*\])*(?: = .*)?;$/;

/**
 * A text for every entry, which a driver compiles alone: the directives of the file, the variables that the entry names, the
 * entry. Comments and empty lines go. Throws BuildError on anything else between entries.
 *
 * @param {string} ptx what the compiler made of one source
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

/** True for a source or a text with products of warpgroups, which compute capability 9.0 alone has. @param {string} text */
export const usesWarpgroups = (text) => /multiply_warpgroup|\bwgmma\b/.test(text);

/** Kernels whose registers are limited: threads of a threadgroup, and threadgroups that a multiprocessor is to hold. */
const LIMITS = [
  { kernels: /^linear_cores(?:_row|_each|8|_each8)_/, threads: 256, threadgroups: 2 },
  { kernels: /^linear_stream/, threads: 512, threadgroups: 1 },
  { kernels: /^(?:linear_warpgroup(?:128|64)_q|moe_warpgroup)/, threads: 256, threadgroups: 2 },
  { kernels: /^linear_warpgroup(?:256|\d+_bf16)/, threads: 256, threadgroups: 1 },
];

/**
 * Adds what a compiler does not know of an entry: how many threadgroups stay side by side, and from sm_90 on that the kernels
 * behind it may start before it ends. A kernel that does not wait for those before it by itself does so at its beginning.
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
    // Of 9.0 alone; what the products read lies at multiples of 1024 bytes.
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
 * What a text of `splitPtx` says about its entry: bytes of parameters, and of shared memory of fixed size.
 *
 * @param {string} ptx
 * @returns {{bytes: number[], sharedBytes: number}}
 */
export function describePtx(ptx) {
  const [, list = ''] = /^\.visible \.entry \w+\(([^)]*)\)/m.exec(ptx) ?? [];
  const bytes = [...list.matchAll(/\.param (?:\.align \d+ )?\.([a-z]+)(\d+) \w+(?:\[(\d+)\])?/g)].map(
    ([, , bits, count]) => (count === undefined ? Number(bits) / 8 : Number(count)),
  );
  // Arrays of bytes, and numbers that the compiler made of small arrays; one without a size is what launches ask for.
  let sharedBytes = 0;
  for (const [, bits, count = '1'] of ptx.matchAll(/^\s*\.shared .*?\.[a-z]+(\d+) [\w$]+(?:\[(\d+)\])?;/gm)) {
    sharedBytes += Math.ceil(((Number(bits) / 8) * Number(count)) / 16) * 16;
  }
  return { bytes, sharedBytes };
}

/** The assembler of the CUDA toolkit, or null: it checks PTX and counts registers, and nothing needs it. */
export function findAssembler() {
  const program = process.env.PTXAS ?? 'ptxas';
  return spawnSync(program, ['--version']).status === 0 ? program : null;
}

/**
 * Assembles the PTX of one entry and throws its code away. What ptxas said; rejects with what it complains about.
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
    // Products of warpgroups that it makes wait for each other.
    warnings: stderr.match(/\(C75\d\d\) .*/g) ?? [],
  };
}
