/**
 * Axis letters, the same everywhere: B batch · T tokens of this step · N output rows (tokens with requested logits) ·
 * D model width · H query heads · G key/value heads · K head width · F MLP width · P per-layer width · L layers ·
 * V vocabulary · E experts · X experts chosen for a row · M a row of a medium (mel frames, samples) ·
 * C frequencies × channels after a convolution · U width of a tower's output. Two letters are a flattened product: `HK`
 * is H heads of width K.
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

/** Rows of an activation: all tokens of the step, or only the output rows. */
export type RowAxis = 'T' | 'N';

declare const axisOf: unique symbol;

/** Carries axis names only in the type, so that a matrix with the wrong axes does not compile. */
export interface Axes<Names> {
  readonly [axisOf]?: Names;
}
