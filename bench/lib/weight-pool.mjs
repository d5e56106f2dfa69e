import { fromFloat32 } from '../../packages/loader/dist/index.js';

/**
 * Random bfloat16 weights with a standard deviation of `scale` around `offset`, taken from a pool at varying offsets, so that a gigabyte
 * takes seconds.
 */
export function weightPool(size = 1 << 20) {
  let state = 20_011;
  const values = Float32Array.from({ length: size }, () => {
    state = (Math.imul(state, 48_271) >>> 0) % 2_147_483_647;
    return (state / 2_147_483_647 - 0.5) * Math.sqrt(12);
  });
  let at = 0;
  /** @param {number} count @param {number} scale */
  return (count, scale, offset = 0) => {
    const made = new Float32Array(count);
    for (let i = 0; i < count; i++) {
      made[i] = values[at] * scale + offset;
      at = at + 1 === size ? (count * 31) % 977 : at + 1;
    }
    return fromFloat32(made, 'BF16');
  };
}
