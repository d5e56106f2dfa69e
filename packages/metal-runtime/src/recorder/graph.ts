import type { Node } from '../../families/nodes.js';
import type { ValueRecord } from './values.js';

export type { Node } from '../../families/nodes.js';

/** A recorded program before it is planned: operations in order, values, inputs and outputs. */
export interface Graph {
  nodes: Node[];
  readonly values: ValueRecord[];
  readonly inputs: Map<string, number>;
  readonly outputs: Map<string, number>;
}
