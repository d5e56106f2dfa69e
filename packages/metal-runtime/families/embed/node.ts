import { InvalidArgumentError } from '@markbase/core';
import type { Axis } from '../../src/axes.js';
import {
  type AnyMatrix,
  type Family,
  matrixAttributes,
  matrixBytes,
  matrixOperands,
} from '../../src/recorder/family.js';
import type { RecordedNode } from '../../src/recorder/recording.js';
import type { Value } from '../../src/value.js';
import type { Matrix } from '../../src/weights.js';

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

/** What records `embed` nodes. */
export interface EmbedOps {
  /** `[T, A]`: y_t = table[token_t] · scale. `ids` chooses the step's token ids or its per-layer token ids. */
  embed<A extends Axis>(
    table: Matrix<'V', A>,
    options: { scale: number; ids?: 'token' | 'layerToken' },
  ): Value<'T', A>;

  /**
   * Replaces the rows that the step marks (`softIndex`) with rows of `soft` [S, A], unscaled. `x` is the result of
   * `embed`, not yet used by anything else.
   */
  insertSoftTokens<A extends Axis>(x: Value<'T', A>, soft: Value<'S', A>): Value<'T', A>;
}

/** What the recorder knows of `embed` nodes, and their `embed` command. */
export const embed: Family<EmbedNode, EmbedOps> = {
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
  operations: (recording) => ({
    embed: (table, { scale, ids = 'token' }) =>
      recording.result('T', table.columns, 'embed', (y, label): EmbedNode => {
        return { kind: 'embed', label, table, ids, scale, soft: null, y };
      }),

    insertSoftTokens(x, soft) {
      recording.expectWidth('insertSoftTokens', 'soft', soft, x.width);
      const last = recording.nodes.at(-1);
      if (!isEmbedOf(last, x.id)) {
        throw new InvalidArgumentError({
          argument: 'insertSoftTokens: x',
          expected: 'the result of the embed recorded just before',
          received: last?.kind,
        });
      }
      recording.nodes[recording.nodes.length - 1] = { ...last, soft: soft.id } as EmbedNode;
      return x;
    },
  }),
};

function isEmbedOf(node: RecordedNode | undefined, y: number): node is EmbedNode {
  return node?.kind === 'embed' && (node as EmbedNode).y === y;
}
