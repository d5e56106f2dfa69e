import { type AnyVector, type Family, rowSetCode, vectorOperand } from '../../src/ops/node.js';

/** y = [cos, sin] of position · inverse frequency. */
export interface RopeTableNode {
  readonly kind: 'ropeTable';
  readonly label: string;
  readonly inverseFrequencies: AnyVector;
  readonly y: number;
}

/** What the recorder knows of `ropeTable` nodes, and their `rope_table` command. */
export const ropeTable: Family<RopeTableNode> = {
  needs: ['positions'],
  reads: () => [],
  writes: (node) => [node.y],
  encode: (node, graph) => ({
    family: 'rope_table',
    attributes: { rowSet: rowSetCode(graph, node.y), pairs: node.inverseFrequencies.length },
    operands: [vectorOperand(node.inverseFrequencies), { value: node.y, isOutput: true }],
    weightBytes: 0,
  }),
};
