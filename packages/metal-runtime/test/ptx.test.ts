import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FAMILIES } from '../conformance/index.js';
import { assemble, describePtx, findAssembler, splitPtx } from '../scripts/ptx-text.mjs';
import { type Device, openPlanDevice } from '../src/index.js';
import { plannedKernels } from './planned-kernels.js';

interface KernelTable {
  abi: number;
  architectures: string[];
  sources: Record<string, Record<string, KernelEntry>>;
}
interface KernelEntry {
  parameters: { index: number; kind: 'value' | 'pointer'; bytes: number }[];
  sharedBytes: number;
  hasDynamicShared: boolean;
  /** The architectures that have it, if not all do. */
  architectures?: string[];
}

/**
 * Kernels that decode four or eight rows at a time run out of registers, and moe_wide and linear_cores of one row with E2M1 numbers do by a
 * few; no other kernel may spill.
 */
const MAY_SPILL =
  /^(?:(?:linear_rows[48]|moe_tiles)_q\d|moe_wide(?:8|32)|linear_cores_(?:row|each)_(?:mx|nv)fp4)$/;
const MOST_SPILLED_BYTES = 600;
/** Shared memory of a threadgroup without an opt-in. */
const MAX_STATIC_SHARED_BYTES = 48 * 1024;

const folder = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../build/ptx');
const isBuilt = existsSync(path.join(folder, 'kernels.json'));
const table: KernelTable = isBuilt
  ? JSON.parse(readFileSync(path.join(folder, 'kernels.json'), 'utf8'))
  : { abi: 0, architectures: [], sources: {} };
const files = table.architectures.flatMap((architecture) =>
  Object.entries(table.sources).flatMap(([source, kernels]) =>
    Object.entries(kernels)
      .filter(([, entry]) => entry.architectures?.includes(architecture) ?? true)
      .map(([kernel, entry]) => ({
        architecture,
        source,
        kernel,
        entry,
        file: path.join(folder, architecture, `${kernel}.ptx`),
      })),
  ),
);

describe('texts of entries', () => {
  const head = '.version 7.0\n.target sm_80\n.address_size 64\n';
  const entry = (name: string, body: string) =>
    `.visible .entry ${name}(\n\t.param .u64 ${name}_param_0\n)\n{\n${body}\n}\n`;

  it('contain only what the entry uses', () => {
    const own = entry('copy', '\tld.shared.u32 %r1, [rows+4]; // two');
    const other = entry('copy_all', '\tmov.u64 %rd1, table;\n\tst.shared.u32 [other_rows], %r1;');
    const rows = '.extern .shared .align 16 .b8 rows[];\n';
    const others = '.shared .align 4 .f32 other_rows;\n.const .align 4 .b8 table[4] = {1, 0, 0, 0};\n';
    const texts = splitPtx(`// compiler\n\n${head}\n${rows}${others}\n\t// copy\n${own}${other}`);
    expect(texts).toEqual({
      copy: head + rows + own.replace(' // two', ''),
      copy_all: head + others + other,
    });
    expect(describePtx(texts.copy_all!)).toEqual({ bytes: [8], sharedBytes: 16 });
  });

  it('are not generated from code outside entries', () => {
    const call = () => splitPtx(`${head}.func helper()\n{\n}\n${entry('copy', '\tret;')}`);
    expect(call).toThrow('PTX outside of entries: .func helper()');
  });
});

describe.skipIf(!isBuilt)('PTX, built by scripts/build-ptx.mjs if clang-19 is installed', () => {
  it.each(files)(
    '$architecture/$kernel: uses only registers, float32 and known memory',
    ({ architecture, source, kernel, entry, file }) => {
      const ptx = readFileSync(file, 'utf8');
      expect(ptx.split('\n')[0]).toBe(
        `// markbase: kernel=${kernel} arch=${architecture} abi=${table.abi} source=${source}.metal`,
      );
      expect(ptx).toContain(`.target ${architecture}`);
      expect(ptx.match(/^\.visible \.entry \w+/gm)).toEqual([`.visible .entry ${kernel}`]);
      // Arrays in memory, calls, accesses to an unknown space, double precision, products that ptxas may fuse.
      for (const unwanted of [
        /\.local\b/,
        /\bcall\b/,
        /\.func\b/,
        /\t(?:ld|st|atom|red)\.(?!(?:volatile\.)?(?:global|shared)|param)/,
        /\.f64\b/,
        /\t(?:mul|add|sub)\.f32/,
      ]) {
        expect(ptx.match(unwanted)?.[0]).toBeUndefined();
      }
      // The operands of wgmma are aligned to 1024 bytes.
      if (ptx.includes('wgmma')) {
        expect(ptx).toMatch(/^\.extern \.shared \.align 1024 /m);
        expect([entry.architectures, entry.sharedBytes]).toEqual([['sm_90'], 0]);
      }
      const { bytes, sharedBytes } = describePtx(ptx);
      const indices = entry.parameters.map(({ index }) => index);
      expect(entry.parameters.map((parameter) => parameter.bytes)).toEqual(bytes);
      expect(indices).toEqual([...indices].sort((a, b) => a - b));
      expect(sharedBytes).toBeLessThanOrEqual(MAX_STATIC_SHARED_BYTES);
    },
  );

  it('passes parameters as values and operands as pointers', () => {
    const { parameters, sharedBytes, hasDynamicShared } = table.sources.linear!.linear_row_q4!;
    expect(parameters.slice(0, 3)).toEqual([
      { index: 0, kind: 'value', bytes: 204 },
      { index: 1, kind: 'value', bytes: 120 },
      { index: 2, kind: 'pointer', bytes: 8 },
    ]);
    expect(parameters.at(-1)).toEqual({ index: 24, kind: 'pointer', bytes: 8 });
    expect([sharedBytes, hasDynamicShared]).toEqual([32, true]);
  });

  it('loads weights 16 bytes at a time through the read-only cache', () => {
    const ptx = readFileSync(path.join(folder, 'sm_80/linear_row_q4.ptx'), 'utf8');
    expect(ptx).toMatch(/ld\.global\.nc\.v4\.u32/);
    expect(ptx).toMatch(/ld\.shared\.v4\.f32/);
  });

  describe('has every kernel that a plan names', () => {
    const known = new Set(Object.values(table.sources).flatMap((entries) => Object.keys(entries)));
    let device: Device;
    beforeAll(async () => {
      device = await openPlanDevice('metal');
    });
    afterAll(() => device.dispose());

    it.each(FAMILIES)('$name', ({ cases }) => {
      for (const test of cases) {
        for (const precision of ['high', 'fast'] as const) {
          const planned = plannedKernels(device, test, precision);
          expect(planned.filter((kernel) => !known.has(kernel))).toEqual([]);
        }
      }
    });
  });
});

const assembler = isBuilt ? findAssembler() : null;
/** The assembler takes up to several seconds for longer texts: only MARKBASE_PTXAS=all includes them. */
const QUICK_BYTES = 60_000;
const isQuick = ({ file, kernel }: (typeof files)[number]) =>
  statSync(file).size <= QUICK_BYTES || kernel.includes('warpgroup');
const assembled = files.filter((each) => process.env.MARKBASE_PTXAS === 'all' || isQuick(each));
describe.skipIf(assembler === null)(
  'PTX and ptxas, if a CUDA toolkit is installed',
  { timeout: 900_000 },
  () => {
    it.each(assembled)(
      '$architecture/$kernel assembles into registers',
      async ({ architecture, kernel, entry, file }) => {
        const made = await assemble(assembler!, file, architecture);
        const { spillBytes, stackBytes, sharedBytes, warnings } = made;
        expect(warnings).toEqual([]);
        const limit = MAY_SPILL.test(kernel) ? MOST_SPILLED_BYTES : 0;
        expect([spillBytes <= limit, stackBytes <= limit]).toEqual([true, true]);
        // The count here includes padding, which the assembler removes.
        expect(sharedBytes).toBeLessThanOrEqual(entry.sharedBytes);
      },
    );
  },
);
