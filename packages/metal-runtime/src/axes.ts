/**
 * Axis letters, everywhere the same: B batch · T tokens this step · N output rows (tokens whose logits are wanted) ·
 * D model width · H query heads · G key/value heads · K head width · F MLP width · P per-layer width · L layers ·
 * V vocabulary · E experts · X experts chosen for a row · M a row of a medium (mel frames, samples) · C frequencies ·
 * channels behind a convolution · U width of a tower's output. Two letters are a flattened product: `HK` is H heads of
 * width K.
 */
export type Axis =
  | 'D'
  | 'F'
  | 'HK'
  | 'GK'
  | 'K'
  | 'P'
  | 'LP'
  | 'V'
  | 'E'
  | 'X'
  | 'XF'
  | 'XD'
  | 'M'
  | 'C'
  | 'U';

/** Rows of an activation: all tokens of the step, or the output rows only. */
export type RowAxis = 'T' | 'N';

declare const axisOf: unique symbol;

/** Carries axis names in the type only, so that a matrix of the wrong axes does not compile. */
export interface Axes<Names> {
  readonly [axisOf]?: Names;
}
