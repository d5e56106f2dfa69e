/**
 * Angles of the axial rope: for a patch at (x, y) a row of the head's width K, cosines then sines of x · f_i, then those of
 * y · f_i, with f_i = theta^(-2i / (K/2)) for i < K/4 (docs/gemma4.md section 3.3).
 */
export class AxialRope {
  readonly #frequencies: Float32Array;
  /** [cosines, sines] of the coordinates 0, 1, 2 … seen so far. */
  readonly #rows: Float32Array[] = [];

  constructor(headWidth: number, theta: number) {
    const half = headWidth / 2;
    this.#frequencies = Float32Array.from({ length: half / 2 }, (_, i) => theta ** ((-2 * i) / half));
  }

  /** Writes the row of a patch. */
  write(x: number, y: number, target: Float32Array, offset: number): void {
    target.set(this.#row(x), offset);
    target.set(this.#row(y), offset + 2 * this.#frequencies.length);
  }

  #row(coordinate: number): Float32Array {
    for (let next = this.#rows.length; next <= coordinate; next++) this.#rows.push(this.#angles(next));
    return this.#rows[coordinate]!;
  }

  #angles(coordinate: number): Float32Array {
    // The angle is rounded to float32, as the reference does it.
    const angles = Array.from(this.#frequencies, (frequency) => Math.fround(coordinate * frequency));
    return Float32Array.from([...angles.map(Math.cos), ...angles.map(Math.sin)]);
  }
}
