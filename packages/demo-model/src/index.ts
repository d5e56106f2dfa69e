import { fileURLToPath } from 'node:url';

/**
 * Absolute path of the demo checkpoint: a folder in the MLX layout with config, tokenizer, chat template, quantised
 * weights, and `expected.safetensors`, the reference outputs that `markbase verify` compares with.
 *
 * Give it to anything that takes a checkpoint folder, such as `loadTextModel(modelPath, device)`.
 */
export const modelPath: string = fileURLToPath(new URL('../model', import.meta.url));
