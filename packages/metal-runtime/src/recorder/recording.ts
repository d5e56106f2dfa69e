import { InvalidArgumentError, ShapeMismatchError } from '@markbase/core';
import type { Axis } from '../axes.js';
import type { DeviceBuffer } from '../device-buffer.js';
import type { Value } from '../value.js';
import type { Vector } from '../weights.js';
import type { Rows, ValueRecord, ValueTable } from './values.js';

/** A value whose axes no longer matter. */
export type AnyValue = Value<Rows, Axis>;

/** What every recorded operation has; families add their operands. */
export interface RecordedNode {
  readonly kind: string;
  /** The scopes and the operation, for errors and plans. */
  readonly label: string;
}

/** What a recording may hold, and how constants get to the device. */
export interface RecorderLimits {
  readonly maxRows: number;
  readonly maxOutputs: number;
  upload(bytes: Uint8Array, label: string): DeviceBuffer;
}

/** Operations and values in the order in which they were recorded, and the checks that operations share. */
export class Recording implements ValueTable {
  readonly nodes: RecordedNode[] = [];
  readonly values: ValueRecord[] = [];
  readonly limits: RecorderLimits;
  #scope = '';

  constructor(limits: RecorderLimits) {
    this.limits = limits;
  }

  /** A value with `width` elements per row, and at most `ownRows` rows 'S'. */
  value<R extends Rows, A extends Axis>(
    rows: R,
    width: number,
    { ownRows, view = null }: { ownRows?: number; view?: ValueRecord['view'] } = {},
  ): Value<R, A> {
    const { maxRows, maxOutputs } = this.limits;
    const id = this.values.length;
    this.values.push({
      id,
      rows,
      width,
      maxRows: ownRows ?? (rows === 'N' ? maxOutputs : maxRows),
      view,
    });
    return { id, rows, width };
  }

  /** Records an operation without a result, or with several. */
  push<N extends RecordedNode>(node: N): void {
    this.nodes.push(node);
  }

  /** Records the operation that `make` describes; its result has `width` elements per row. */
  result<R extends Rows, A extends Axis>(
    rows: R,
    width: number,
    operation: string,
    make: (y: number, label: string) => RecordedNode,
  ): Value<R, A> {
    const y = this.value<R, A>(rows, width);
    this.push(make(y.id, this.label(operation)));
    return y;
  }

  /** The name of an operation within its scopes. */
  label(operation: string): string {
    return this.#scope === '' ? operation : `${this.#scope} / ${operation}`;
  }

  /** Runs `body`; everything it records has `name` in its label. */
  scope<Result>(name: string, body: () => Result): Result {
    const outer = this.#scope;
    this.#scope = this.label(name);
    try {
      return body();
    } finally {
      this.#scope = outer;
    }
  }

  /**
   * Elements in each of the `heads` vectors of a row. @throws ShapeMismatchError if `heads` does not divide the width
   */
  headWidth(operation: string, x: AnyValue, heads: number): number {
    if (Number.isInteger(heads) && heads >= 1 && x.width % heads === 0) return x.width / heads;
    throw new ShapeMismatchError({
      operation,
      argument: 'heads',
      expected: `a divisor of the width ${x.width}`,
      received: String(heads),
    });
  }

  /** @throws ShapeMismatchError */
  expectWidth(operation: string, argument: string, value: AnyValue, width: number): void {
    if (value.width === width) return;
    const [expected, received] = [`[${value.rows}, ${width}]`, `[${value.rows}, ${value.width}]`];
    throw new ShapeMismatchError({ operation, argument, expected, received });
  }

  /** @throws ShapeMismatchError */
  expectRows(operation: string, argument: string, value: AnyValue, like: AnyValue): void {
    if (value.rows === like.rows) return;
    const [expected, received] = [`[${like.rows}, ${value.width}]`, `[${value.rows}, ${value.width}]`];
    throw new ShapeMismatchError({ operation, argument, expected, received });
  }

  /** @throws ShapeMismatchError */
  expectLength(operation: string, argument: string, vector: Vector<Axis>, length: number): void {
    if (vector.length === length) return;
    const [expected, received] = [`[${length}]`, `[${vector.length}]`];
    throw new ShapeMismatchError({ operation, argument, expected, received });
  }

  /** @throws InvalidArgumentError unless `value` is above 0 */
  expectPositive(argument: string, value: number): void {
    if (value > 0) return;
    throw new InvalidArgumentError({ argument, expected: 'a number > 0', received: value });
  }
}
