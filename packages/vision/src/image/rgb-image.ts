/** A decoded picture: 8-bit red, green, blue, upright, without transparency. */
export interface RgbImage {
  /** W in pixels. */
  readonly width: number;
  /** H in pixels. */
  readonly height: number;
  /** [H, W, 3], row-major. */
  readonly data: Uint8Array;
}
