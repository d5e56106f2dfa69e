import { openCheckpoint, readMatrixRows } from '@markbase/loader';

// A folder with config.json, or a repository folder of the Hugging Face cache. Only headers are read.
const checkpoint = await openCheckpoint('models/gemma-4-e2b-it-4bit');
const { config, weights } = checkpoint;
console.log(config.family, config.text.layerCount, `${checkpoint.sizeBytes} bytes`);
for (const [index, layer] of config.text.layers.entries()) {
  console.log(index, layer.kind, layer.headDim, layer.kvHeadCount, layer.kvSource);
}

// One spelling of names for every layout; shape, format, bits and group size are checked.
const { hiddenSize, vocabSize } = config.text;
const size = { rows: vocabSize, columns: hiddenSize };
const matrix = weights.stored('language_model.embed_tokens', size);
console.log(matrix.kind); // plain, affine, mxfp4, mxfp8 or nvfp4
console.log(await readMatrixRows(matrix, 2, 3)); // the embedding of token 2; nothing else is read
console.log(weights.unused()); // tensors that nothing has asked for
