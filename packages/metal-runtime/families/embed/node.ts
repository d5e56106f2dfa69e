import {
  type AnyMatrix,
  type Family,
  matrixAttributes,
  matrixBytes,
  matrixOperands,
} from '../../src/ops/node.js';

/** y = table[id] · scale; rows that the step marks are taken from `soft` when it is present. */
export interface EmbedNode {
  readonly kind: 'embed';
  readonly label: string;
  readonly table: AnyMatrix;
  readonly ids: 'token' | 'layerToken';
  readonly scale: number;
  readonly soft: number | null;
  readonly y: number;
}

/** What the recorder knows of `embed` nodes, and their `embed` command. */
export const embed: Family<EmbedNode> = {
  needs: ['tokens'],
  reads: (node) => (node.soft === null ? [] : [node.soft]),
  writes: (node) => [node.y],
  encode: (node) => ({
    family: 'embed',
    attributes: {
      width: node.table.columns,
      vocabulary: node.table.rows,
      ...matrixAttributes(node.table),
      isLayerTable: node.ids === 'layerToken' ? 1 : 0,
      hasSoft: node.soft === null ? 0 : 1,
      scale: node.scale,
    },
    operands: [
      ...matrixOperands(node.table),
      node.soft === null ? null : { value: node.soft },
      { value: node.y, isOutput: true },
    ],
    weightBytes: matrixBytes(node.table) / node.table.rows,
  }),
};
