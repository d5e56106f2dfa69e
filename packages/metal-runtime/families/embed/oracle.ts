import {
  type ConformanceCase,
  type ConformanceFamily,
  ROW_COUNTS,
} from '../../conformance/conformance-case.js';
import { integerArray, normalArray } from '../../conformance/random.js';
import { affineMatrix, plainMatrix, type StoredMatrix, smallFloatMatrix } from '../../conformance/storage.js';

const VOCABULARY = 37;
const SCALE = 39.25;

interface EmbedCase {
  readonly title: string;
  readonly table: StoredMatrix;
  readonly rows: number;
  readonly ids?: 'token' | 'layerToken';
  readonly hasSoft?: boolean;
}

/** y_t = table[id_t] · scale; rows with softIndex ≥ 0 are soft tokens. */
function embedCase({ title, table, rows, ids = 'token', hasSoft = false }: EmbedCase): ConformanceCase {
  const width = table.columns;
  const tokens = integerArray(1, rows, VOCABULARY);
  const layerTokens = integerArray(2, rows, VOCABULARY);
  const softRows = 5;
  // Every other row; the last soft token first.
  const softIndex = Int32Array.from({ length: rows }, (_, r) => (r % 2 === 0 ? softRows - 1 - (r % 5) : -1));
  const soft = normalArray(3, softRows * width);
  return {
    name: `${title} rows=${rows}`,
    rows: { count: rows, tokens, layerTokens, softIndex: hasSoft ? softIndex : undefined },
    inputs: hasSoft ? { soft: { rows: 'S', width, data: soft } } : {},
    record(ops, device) {
      const y = ops.embed(table.upload<'V', 'D'>(device), { scale: SCALE, ids });
      if (!hasSoft) return ops.output('y', y);
      const softTokens = ops.input('soft', 'S', { axis: 'D', size: width, maxRows: softRows });
      ops.output('y', ops.insertSoftTokens(y, softTokens));
    },
    oracle() {
      const y = new Float64Array(rows * width);
      for (let r = 0; r < rows; r++) {
        const id = (ids === 'token' ? tokens : layerTokens)[r]!;
        for (let i = 0; i < width; i++) {
          y[r * width + i] =
            hasSoft && softIndex[r]! >= 0
              ? soft[softIndex[r]! * width + i]!
              : table.values[id * width + i]! * SCALE;
        }
      }
      return { y };
    },
    // Dequantisation rounds twice, the scale once.
    tolerance: { absolute: 1e-6, relative: 4e-7 },
  };
}

const TABLES: readonly (readonly [string, StoredMatrix])[] = [
  ['f32 1536', plainMatrix(10, VOCABULARY, 1536, 'F32')],
  ['bf16 5376', plainMatrix(11, VOCABULARY, 5376, 'BF16')],
  ['f16 odd 33', plainMatrix(12, VOCABULARY, 33, 'F16')],
  ['q4g64 2560', affineMatrix(13, VOCABULARY, 2560, { bits: 4, groupSize: 64, scaleDtype: 'BF16' })],
  ['q6g32 96', affineMatrix(14, VOCABULARY, 96, { bits: 6, groupSize: 32, scaleDtype: 'F16' })],
  ['q3g128 1536', affineMatrix(15, VOCABULARY, 1536, { bits: 3, groupSize: 128, scaleDtype: 'F32' })],
];

/** Scales of all sizes whose products are normal numbers. */
const EXPONENTS = Array.from({ length: 200 }, (_, i) => 30 + i);
const SMALL_FLOATS: readonly (readonly [string, StoredMatrix])[] = [
  ['mxfp4 96', smallFloatMatrix(16, VOCABULARY, 96, 'mxfp4', EXPONENTS)],
  ['mxfp8 1536', smallFloatMatrix(17, VOCABULARY, 1536, 'mxfp8', EXPONENTS)],
  ['nvfp4 256', smallFloatMatrix(18, VOCABULARY, 256, 'nvfp4', [...EXPONENTS.keys()].slice(0, 127))],
];

export const embed: ConformanceFamily = {
  name: 'embed',
  cases: [
    ...[...TABLES, ...SMALL_FLOATS].map(([title, table]) => embedCase({ title, table, rows: 7 })),
    ...ROW_COUNTS.map((rows) =>
      embedCase({ title: 'layer ids', table: TABLES[4]![1], rows, ids: 'layerToken' }),
    ),
    ...ROW_COUNTS.map((rows) =>
      embedCase({ title: 'soft tokens', table: TABLES[2]![1], rows, hasSoft: true }),
    ),
  ],
};
