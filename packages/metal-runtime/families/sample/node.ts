import type { DeviceBuffer } from '../../src/device-buffer.js';
import type { Family } from '../../src/recorder/family.js';
import { strideOf } from '../../src/recorder/values.js';
import type { Value } from '../../src/value.js';

/** Maximum number of alternatives reported per token; kMaxTopLogprobs in device/step.h. */
export const MAX_TOP_LOGPROBS = 20;

/** Chooses one token per output row; the results are read back with the step. */
export interface SampleNode {
  readonly kind: 'sample';
  readonly label: string;
  readonly logits: number;
  readonly suppressed: { readonly ids: DeviceBuffer; readonly count: number } | null;
  /** [N, 1] int32 */
  readonly tokens: number;
  /** [N, 1] */
  readonly logprobs: number;
  /** [N, 20] int32 */
  readonly topTokens: number;
  /** [N, 20] */
  readonly topLogprobs: number;
}

/** What records `sample` nodes. */
export interface SampleOps {
  /** Chooses one token per output row by the step's sampling parameters. Ids in `suppressed` are never chosen. */
  sample(logits: Value<'N', 'V'>, options?: { suppressed?: readonly number[] }): void;
}

/** What the recorder knows of `sample` nodes, and their `sample` command. */
export const sample: Family<SampleNode, SampleOps> = {
  reads: (node) => [node.logits],
  writes: (node) => [node.tokens, node.logprobs, node.topTokens, node.topLogprobs],
  encode: (node, graph) => ({
    family: 'sample',
    attributes: {
      vocabulary: graph.values[node.logits]!.width,
      logitsStride: strideOf(graph, node.logits),
      suppressed: node.suppressed?.count ?? 0,
    },
    operands: [
      { value: node.logits },
      node.suppressed ? { buffer: node.suppressed.ids } : null,
      { value: node.tokens, isOutput: true },
      { value: node.logprobs, isOutput: true },
      { value: node.topTokens, isOutput: true },
      { value: node.topLogprobs, isOutput: true },
    ],
    weightBytes: 0,
  }),
  operations: (recording) => ({
    sample(logits, { suppressed: ids = [] } = {}) {
      const bytes = new Uint8Array(Int32Array.from(ids).buffer);
      const count = ids.length;
      recording.push<SampleNode>({
        kind: 'sample',
        label: recording.label('sample'),
        logits: logits.id,
        suppressed: count === 0 ? null : { ids: recording.limits.upload(bytes, 'suppressed ids'), count },
        tokens: recording.value('N', 1).id,
        logprobs: recording.value('N', 1).id,
        topTokens: recording.value('N', MAX_TOP_LOGPROBS).id,
        topLogprobs: recording.value('N', MAX_TOP_LOGPROBS).id,
      });
    },
  }),
};
