import type { Ops, Value } from '@markbase/metal-runtime';
import { withAdapters } from './adapters.js';
import { decoderLayer, decoderLayerOfOutputs } from './decoder-layer.js';
import type { Decoder } from './layer.js';
import { rowInputs } from './row-inputs.js';

/** Name of the step input with soft tokens [S, D]. */
export const SOFT_TOKENS_INPUT = 'softTokens';
/** Name of the output with logits [N, V]. */
export const LOGITS_OUTPUT = 'logits';
/** Name of the output with hidden states [N, D] after the final norm, which an assistant goes on from. */
export const HIDDEN_OUTPUT = 'hidden';

/** Options for recording a decoder. */
export interface DecoderRecording {
  /**
   * 'last': layers and rows that only affect output rows run for those rows alone (prefill).
   * 'all': every layer runs for every row (decode steps, in which every row is an output, and verification).
   */
  readonly rowsOfInterest: 'last' | 'all';
  /** Maximum number of soft tokens in a step; 0 = the program accepts none. */
  readonly maxSoftTokens: number;
  /** Called with the embedding (index 0) and the output of layer i (index i + 1), all rows. */
  readonly observe?: (index: number, h: Value<'T', 'D'>) => void;
  /** Called with the output rows after the final norm. */
  readonly observeOutputs?: (h: Value<'N', 'D'>) => void;
}

/** Records token ids [T] → logits [N, V]: embedding, layers, head. */
export function recordDecoder(ops: Ops, decoder: Decoder, recording: DecoderRecording): Value<'N', 'V'> {
  if (decoder.adapters)
    return recordDecoder(withAdapters(ops, decoder.adapters), { ...decoder, adapters: null }, recording);
  const h = ops.scope('embedding', () => embedTokens(ops, decoder, recording.maxSoftTokens));
  recording.observe?.(0, h);
  const out =
    recording.rowsOfInterest === 'last'
      ? outputsThroughLayers(ops, decoder, h)
      : ops.gatherRows(allThroughLayers(ops, decoder, h, recording.observe));
  return ops.scope('head', () => head(ops, decoder, out, recording.observeOutputs));
}

/** [T, D]: E[id] · s, with soft tokens instead of placeholders (docs/gemma4.md section 2.2). */
export function embedTokens(ops: Ops, decoder: Decoder, maxSoftTokens: number): Value<'T', 'D'> {
  const h = ops.embed(decoder.embedding, { scale: decoder.embeddingScale });
  if (maxSoftTokens === 0) return h;
  const width = { axis: 'D' as const, size: decoder.embedding.columns, maxRows: maxSoftTokens };
  return ops.insertSoftTokens(h, ops.input(SOFT_TOKENS_INPUT, 'S', width));
}

/**
 * [T, LP]: (E_ple[id] · sqrt(P) + norm(h₀ W · D^(-1/2))) · 2^(-1/2), normalised per layer (docs/gemma4.md section 2.3).
 *
 * @param embedded the merged, scaled embedding h₀
 * @returns null if the model has no per-layer embeddings
 */
export function perLayerEmbeddings(
  ops: Ops,
  decoder: Decoder,
  embedded: Value<'T', 'D'>,
): Value<'T', 'LP'> | null {
  const table = decoder.perLayer;
  if (!table) return null;
  return ops.scope('per-layer embedding', () => {
    const identity = ops.embed(table.embedding, { scale: table.embeddingScale, ids: 'layerToken' });
    const projected = ops.scale(ops.linear(embedded, table.projection), table.projectionScale);
    const norm = { eps: decoder.normEps, heads: decoder.layers.length };
    const context = ops.rmsNormHeads(projected, table.projectionNorm, norm);
    return ops.scale(ops.add(identity, context), Math.SQRT1_2);
  });
}

/** [N, V]: logits = c · tanh(norm(h) Uᵀ / c). */
function head(
  ops: Ops,
  decoder: Decoder,
  h: Value<'N', 'D'>,
  observe: DecoderRecording['observeOutputs'],
): Value<'N', 'V'> {
  const normed = ops.rmsNorm(h, decoder.finalNorm, { eps: decoder.normEps });
  observe?.(normed);
  const logits = ops.linear(normed, decoder.head);
  return decoder.logitCap === null ? logits : ops.softcap(logits, decoder.logitCap);
}

function allThroughLayers(
  ops: Ops,
  decoder: Decoder,
  embedded: Value<'T', 'D'>,
  observe: DecoderRecording['observe'],
): Value<'T', 'D'> {
  const perLayer = perLayerEmbeddings(ops, decoder, embedded);
  const inputs = rowInputs(ops, decoder, 'T', decoder.layers, perLayer);
  let h = embedded;
  for (const layer of decoder.layers) {
    h = ops.scope(`layer ${layer.index}`, () => decoderLayer(ops, layer, h, inputs));
    observe?.(layer.index + 1, h);
  }
  return h;
}

function outputsThroughLayers(ops: Ops, decoder: Decoder, embedded: Value<'T', 'D'>): Value<'N', 'D'> {
  // Layers after the last cache only read, so only their output rows are needed.
  const cut = decoder.lastCachingLayer;
  const before = decoder.layers.slice(0, cut);
  const last = decoder.layers[cut]!;
  const after = decoder.layers.slice(cut + 1);
  const perLayer = perLayerEmbeddings(ops, decoder, embedded);
  const inputs = {
    all: rowInputs(ops, decoder, 'T', [...before, last], perLayer),
    outputs: rowInputs(ops, decoder, 'N', [last, ...after], perLayer && ops.gatherRows(perLayer)),
  };
  let h = embedded;
  for (const layer of before) {
    h = ops.scope(`layer ${layer.index}`, () => decoderLayer(ops, layer, h, inputs.all));
  }
  let out = ops.scope(`layer ${cut}`, () => decoderLayerOfOutputs(ops, last, h, inputs));
  for (const layer of after) {
    out = ops.scope(`layer ${layer.index}`, () => decoderLayer(ops, layer, out, inputs.outputs));
  }
  return out;
}
