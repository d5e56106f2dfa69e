import {
  type ConformanceCase,
  type ConformanceFamily,
  ROW_COUNTS,
  type Tolerance,
} from '../../conformance/conformance-case.js';
import { normalArray } from '../../conformance/random.js';
import type { Ops, Value } from '../../src/index.js';

type Operation = 'add' | 'scale' | 'geglu' | 'softcap' | 'clamp' | 'silu' | 'glu';

interface ElementwiseCase {
  readonly op: Operation;
  readonly rows: number;
  readonly width: number;
  /** Columns before and after the operands in the values that they are views of. */
  readonly margin?: number;
  /** Replaces the first numbers of the first operand. */
  readonly edges?: readonly number[];
}

const FACTOR = Math.SQRT1_2;
const CAP = 30;
const LOW = -0.75;
const HIGH = 1.5;

/** 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))), written to avoid cancellation in float64. */
export function geluOracle(x: number): number {
  const inner = Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3);
  return x === Number.NEGATIVE_INFINITY ? 0 : x / (1 + Math.exp(-2 * inner));
}

/** 1 / (1 + e^-x). */
function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x));
}

const RECORD: Record<Operation, (ops: Ops, a: Value<'T', 'D'>, b: Value<'T', 'D'>) => Value<'T', 'D'>> = {
  add: (ops, a, b) => ops.add(a, b),
  scale: (ops, a) => ops.scale(a, FACTOR),
  geglu: (ops, a, b) => ops.geglu(a, b),
  softcap: (ops, a) => ops.softcap(a, CAP),
  clamp: (ops, a) => ops.clamp(a, { low: LOW, high: HIGH }),
  silu: (ops, a) => ops.silu(a),
  glu: (ops, a, b) => ops.glu(a, b),
};

const ORACLE: Record<Operation, (a: number, b: number) => number> = {
  add: (a, b) => a + b,
  scale: (a) => a * Math.fround(FACTOR),
  geglu: (a, b) => geluOracle(a) * b,
  softcap: (a) => CAP * Math.tanh(a / CAP),
  clamp: (a) => Math.min(Math.max(a, LOW), HIGH),
  silu: (a) => a * sigmoid(a),
  glu: (a, b) => a * sigmoid(b),
};

// Add and scale round once; a subnormal number is rounded to a multiple of 1.4e-45. The exponential in gelu and tanh is
// accurate to 1.2e-7 and enters a quotient; a gelu far below 0 loses relative, not absolute, precision in its exponent.
const TOLERANCES: Record<Operation, Tolerance> = {
  add: { absolute: 1e-45, relative: 6e-8 },
  scale: { absolute: 1e-45, relative: 6e-8 },
  geglu: { absolute: 5e-7, relative: 5e-7 },
  softcap: { absolute: 1e-37, relative: 4e-7 },
  clamp: { absolute: 0, relative: 0 },
  silu: { absolute: 1e-37, relative: 5e-7 },
  glu: { absolute: 1e-37, relative: 5e-7 },
};

function elementwiseCase({ op, rows, width, margin = 0, edges = [] }: ElementwiseCase): ConformanceCase {
  const stride = width + 2 * margin;
  const a = normalArray(31, rows * stride, op === 'softcap' ? 40 : 2);
  const b = normalArray(32, rows * stride);
  a.set(edges, margin);
  const isBinary = op === 'add' || op === 'geglu' || op === 'glu';
  return {
    name: `${op} [${rows}, ${width}]${margin ? ' view' : ''}${edges.length ? ' edges' : ''}`,
    rows: { count: rows },
    inputs: {
      a: { rows: 'T', width: stride, data: a },
      ...(isBinary && { b: { rows: 'T', width: stride, data: b } }),
    },
    record(ops) {
      const operand = (name: string) => {
        const whole = ops.input(name, 'T', { axis: 'D', size: stride });
        return margin ? ops.columns(whole, { axis: 'D', begin: margin, width }) : whole;
      };
      const first = operand('a');
      ops.output('y', RECORD[op](ops, first, isBinary ? operand('b') : first));
    },
    oracle: () => ({
      y: Float64Array.from({ length: rows * width }, (_, i) => {
        const at = Math.floor(i / width) * stride + margin + (i % width);
        return ORACLE[op](a[at]!, b[at]!);
      }),
    }),
    tolerance: TOLERANCES[op],
  };
}

const OPERATIONS: readonly Operation[] = ['add', 'scale', 'geglu', 'softcap', 'clamp', 'silu', 'glu'];
const TINY = [0, -0, 1e-45, -1e-40, 1e-38, -1e-20, 1e-10, 1e-4, -1e-3];
const LARGE = [
  10, -10, 20, -20, 50, -50, 100, -100, 400, -400, 2500, -2500, 1e4, -1e4, 1e15, -1e15, 1e30, -1e30, 1e37,
  -1e37,
];

export const elementwise: ConformanceFamily = {
  name: 'elementwise',
  cases: OPERATIONS.flatMap((op) => [
    ...ROW_COUNTS.map((rows) => elementwiseCase({ op, rows, width: 1536 })),
    ...[1, 15, 16, 17, 33].map((width) => elementwiseCase({ op, rows: 3, width })),
    elementwiseCase({ op, rows: 2, width: 9000 }),
    elementwiseCase({ op, rows: 5, width: 37, margin: 3 }),
    elementwiseCase({ op, rows: 2, width: 64, edges: [...TINY, ...LARGE] }),
  ]),
};
