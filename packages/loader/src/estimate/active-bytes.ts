import { isDeadWeight, isSharedKeyValue } from '../checkpoint/weight-names.js';
import type { ModelConfig } from '../config/model-config.js';
import type { TextConfig } from '../config/text-config.js';
import { modelPart, type SizedTensor } from './tensor-bytes.js';

/** Weight bytes that one decoding step of one sequence reads. */
export interface ActiveBytes {
  /** Tensors that are read completely: projections, norms, routers, and the output head, which is the embedding when it is tied. */
  readonly dense: number;
  /** Of the experts: the `topK` of `count` that run. */
  readonly experts: number;
  /** Embedding tables, of which only the token's row is read. */
  readonly lookups: number;
}

const EXPERTS = /^language_model\.layers\.[0-9]+\.experts\./;
const EMBEDDING = /^language_model\.embed_tokens\./;
const PER_LAYER_EMBEDDING = /^language_model\.embed_tokens_per_layer\./;

/** Sums what a decoding step reads, from the sizes of the tensors. Encoders do not run while text is decoded. */
export function activeBytes(tensors: Iterable<SizedTensor>, config: ModelConfig): ActiveBytes {
  const { text } = config;
  const sums = { dense: 0, experts: 0, lookups: 0 };
  for (const { name, sizeBytes } of tensors) {
    if (modelPart(name) !== 'text' || !isMapped(name, text)) continue;
    const experts = text.experts;
    if (EXPERTS.test(name) && experts !== null) sums.experts += (sizeBytes * experts.topK) / experts.count;
    else if (PER_LAYER_EMBEDDING.test(name)) sums.lookups += sizeBytes / Math.max(1, text.perLayerVocabSize);
    else if (EMBEDDING.test(name)) {
      sums.lookups += sizeBytes / text.vocabSize;
      if (text.tieWordEmbeddings) sums.dense += sizeBytes * scoredShare(config);
    } else sums.dense += sizeBytes;
  }
  return {
    dense: Math.round(sums.dense),
    experts: Math.round(sums.experts),
    lookups: Math.round(sums.lookups),
  };
}

/** The part of the vocabulary that a step scores: all of it, except in a drafter with centroids, which scores some groups. */
function scoredShare(config: ModelConfig): number {
  const ordered = config.family === 'gemma4_assistant' ? config.orderedEmbeddings : null;
  return ordered === null ? 1 : ordered.topK / ordered.centroids;
}

/** False for tensors that no model reads: dead keys and values, copies of a tied head, computed tables. */
export function isMapped(name: string, text: TextConfig): boolean {
  return !isDeadWeight(name, text.tieWordEmbeddings) && !isSharedKeyValue(name, text);
}
