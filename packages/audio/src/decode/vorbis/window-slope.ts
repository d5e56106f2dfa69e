/** The rising half of the Vorbis window for blocks of `size`: `sin(π/2 · sin²(π (j + 1/2) / size))`. */
export function windowSlope(size: number): Float32Array {
  return Float32Array.from({ length: size / 2 }, (_, j) => {
    const rise = Math.sin((Math.PI * (j + 0.5)) / size);
    return Math.sin((Math.PI / 2) * rise * rise);
  });
}
