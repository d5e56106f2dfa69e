import type { RowAxis } from '../../src/axes.js';
import { type AnyVector, type Family, vectorOperand } from '../../src/recorder/family.js';
import { rowSetCode } from '../../src/recorder/values.js';
import type { Value } from '../../src/value.js';
import type { Vector } from '../../src/weights.js';

/** y = [cos, sin] of position · inverse frequency. */
export interface RopeTableNode {
  readonly kind: 'ropeTable';
  readonly label: string;
  readonly inverseFrequencies: AnyVector;
  readonly y: number;
}

/** What records `ropeTable` nodes. */
export interface RopeTableOps {
  /**
   * `[R, K]`: cosines, then sines, of position · inverseFrequency_i for the pairs (i, i + K/2) of a head. Frequencies
   * of 0 leave a pair unchanged. One table serves all layers of a kind.
   */
  ropeTable<R extends RowAxis>(rows: R, inverseFrequencies: Vector<'K'>): Value<R, 'K'>;
}

/** What the recorder knows of `ropeTable` nodes, and their `rope_table` command. */
export const ropeTable: Family<RopeTableNode, RopeTableOps> = {
  needs: ['positions'],
  reads: () => [],
  writes: (node) => [node.y],
  encode: (node, graph) => ({
    family: 'rope_table',
    attributes: { rowSet: rowSetCode(graph, node.y), pairs: node.inverseFrequencies.length },
    operands: [vectorOperand(node.inverseFrequencies), { value: node.y, isOutput: true }],
    weightBytes: 0,
  }),
  operations: (recording) => ({
    ropeTable: (rows, inverseFrequencies) =>
      recording.result(rows, 2 * inverseFrequencies.length, 'rope_table', (y, label): RopeTableNode => {
        return { kind: 'ropeTable', label, inverseFrequencies, y };
      }),
  }),
};
