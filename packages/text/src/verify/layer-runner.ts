import type { StepInput } from '@markbase/metal-runtime';
import type { PromptRows } from '../engine/prompt.js';
import type { Sequence } from '../engine/sequence.js';
import { appendKeyValue } from '../model/attention.js';
import { embedTokens, perLayerEmbeddings } from '../model/decoder.js';
import { decoderLayer } from '../model/decoder-layer.js';
import { rowInputs } from '../model/row-inputs.js';
import type { TextModel } from '../text-model.js';

const INPUT = 'hidden';
const SOURCE = 'source';
const OUTPUT = 'output';

/** Inputs of a single layer. */
export interface LayerFeed {
  readonly sequence: Sequence;
  readonly rows: PromptRows;
  /** [T, D]: the residual stream before layer i. */
  readonly hidden: (layerIndex: number) => Promise<Float32Array>;
}

/**
 * Runs one decoder layer alone, [T, D] → [T, D]; the last layer is followed by the final norm. A layer that shares a
 * cache uses the keys and values that its source layer computes from the source's `hidden`.
 */
export async function runLayer(model: TextModel, layerIndex: number, feed: LayerFeed): Promise<Float32Array> {
  const { decoder, config } = model;
  const layer = decoder.layers[layerIndex]!;
  const sourceIndex = config.layers[layerIndex]!.kvSource;
  const source = sourceIndex === null ? null : decoder.layers[sourceIndex]!;
  const width = { axis: 'D' as const, size: config.hiddenWidth };
  const count = feed.rows.end;
  const program = model.device.record(
    {
      label: `layer ${layerIndex} alone`,
      maxRows: count,
      maxOutputs: 1,
      precision: model.settings.precision,
      checkFinite: true,
    },
    (ops) => {
      const perLayer = decoder.perLayer
        ? perLayerEmbeddings(ops, decoder, embedTokens(ops, decoder, 0))
        : null;
      const inputs = rowInputs(ops, decoder, 'T', [layer, ...(source ? [source] : [])], perLayer);
      if (source) {
        const x = ops.rmsNorm(ops.input(SOURCE, 'T', width), source.inputNorm, { eps: source.normEps });
        const rope = inputs.rope(source.attention.ropeIndex);
        appendKeyValue(ops, source.attention, source.attention.keyValue!, x, rope);
      }
      const h = decoderLayer(ops, layer, ops.input(INPUT, 'T', width), inputs);
      const isLast = layerIndex === decoder.layers.length - 1;
      ops.output(OUTPUT, isLast ? ops.rmsNorm(h, decoder.finalNorm, { eps: decoder.normEps }) : h);
    },
  );
  try {
    const inputs: Record<string, Float32Array> = { [INPUT]: await feed.hidden(layerIndex) };
    if (sourceIndex !== null) inputs[SOURCE] = await feed.hidden(sourceIndex);
    await model.reserve(feed.sequence, count);
    const step = { ...plainStep(feed), inputs };
    return (await model.runStep(program, step, [OUTPUT])).outputs[OUTPUT]!;
  } finally {
    program.dispose();
  }
}

/** Runs the head alone: [T, D] after the final norm → logits [T, V]. */
export async function runHead(model: TextModel, feed: LayerFeed): Promise<Float32Array> {
  const { decoder, config } = model;
  const count = feed.rows.end;
  const program = model.device.record(
    { label: 'head alone', maxRows: count, maxOutputs: count, precision: model.settings.precision },
    (ops) => {
      const h = ops.gatherRows(ops.input(INPUT, 'T', { axis: 'D', size: config.hiddenWidth }));
      const logits = ops.linear(h, decoder.head);
      ops.output(OUTPUT, decoder.logitCap === null ? logits : ops.softcap(logits, decoder.logitCap));
    },
  );
  try {
    const inputs = { [INPUT]: await feed.hidden(decoder.layers.length) };
    const outputRows = Int32Array.from({ length: count }, (_, row) => row);
    const step = { ...plainStep(feed), inputs, outputRows };
    return (await model.runStep(program, step, [OUTPUT])).outputs[OUTPUT]!;
  } finally {
    program.dispose();
  }
}

function plainStep({ rows, sequence }: LayerFeed): StepInput {
  const count = rows.end;
  return {
    tokens: rows.tokens,
    layerTokens: rows.layerTokens,
    visibleEnd: rows.visibleEnd,
    positions: Int32Array.from({ length: count }, (_, row) => row),
    tables: [sequence.table],
    outputRows: new Int32Array(0),
  };
}
