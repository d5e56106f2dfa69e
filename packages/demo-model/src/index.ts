import { fileURLToPath } from 'node:url';

/**
 * Absolute path of the demo checkpoint: a folder in the MLX layout with config, tokenizer, chat template, quantised
 * weights, and `expected.safetensors`, the reference outputs that `markbase verify` compares with.
 *
 * Pass it to anything that takes a checkpoint folder, such as `loadTextModel(modelPath, device)`.
 */
export const modelPath: string = fileURLToPath(new URL('../model', import.meta.url));

/**
 * Absolute path of the second model, a mixture of experts like 26B-A4B: text only, with the same tokenizer and template.
 *
 * Loading it takes the option `feedForward: mixtureOfExperts` of @markbase/moe.
 */
export const moeModelPath: string = fileURLToPath(new URL('../model-moe', import.meta.url));
