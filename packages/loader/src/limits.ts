/** Largest header of a safetensors file in bytes: the limit of the reference reader, inclusive. */
export const MAX_HEADER_BYTES = 100_000_000;

/** Most tensors in one file; the largest Gemma 4 checkpoint has about 2,500. */
export const MAX_TENSOR_COUNT = 1_000_000;

/** Most axes of one tensor; real checkpoints have at most 5. */
export const MAX_TENSOR_RANK = 64;

/** Deepest nesting inside fields of the header that the reader does not know and skips. */
export const MAX_HEADER_DEPTH = 64;

/** Largest small JSON file (config.json, generation_config.json) in bytes. */
export const MAX_CONFIG_BYTES = 8 * 1024 * 1024;

/** Largest `model.safetensors.index.json` in bytes. */
export const MAX_INDEX_BYTES = 64 * 1024 * 1024;

/** Most files that one index may name. */
export const MAX_SHARD_COUNT = 10_000;

/** Most decoder or tower layers that a config may have; the largest released model has 60. */
export const MAX_LAYER_COUNT = 1_024;

/** Largest width, vocabulary, window or count in a config, so that the product of any two is exact. */
export const MAX_CONFIG_SIZE = 2 ** 26;

/** Bytes of a tensor that are in memory at once while a checkpoint is copied or quantised. */
export const COPY_CHUNK_BYTES = 8 * 1024 * 1024;
