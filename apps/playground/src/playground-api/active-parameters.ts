import { type Checkpoint, estimate } from '@markbase/loader';

/**
 * Number of parameters that one token is computed with: only the active experts, and only the head of the embedding
 * tables.
 *
 * Each costs one multiplication and one addition.
 */
export function activeParameters({ config, quantization, weights }: Checkpoint): number {
  const bitsOf = (module: string): number => {
    const parameters = quantization?.overrides.get(module) ?? quantization;
    return parameters ? parameters.bits : 32;
  };
  const counted = function* () {
    for (const [name, tensor] of weights.entries()) {
      const count = tensor.shape.reduce((product, size) => product * size, 1);
      const isPacked = tensor.dtype === 'U32';
      const elements = isPacked ? (count * 32) / bitsOf(name.replace(/\.weight$/, '')) : count;
      // Scales and biases belong to the values that they scale.
      const sizeBytes = /\.(?:scales|biases)$/.test(name) ? 0 : elements;
      yield [name, { dtype: tensor.dtype, shape: tensor.shape, range: { sizeBytes } }] as const;
    }
  };
  // An estimate with one byte per parameter counts parameters.
  const { dense, experts } = estimate({ config, weights: { entries: counted } }).activePerToken;
  return dense + experts;
}
