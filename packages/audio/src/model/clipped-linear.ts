import type { Axis, Matrix, Ops, RowAxis, Value } from '@markbase/metal-runtime';

/** Bounds of an activation. */
export interface Clip {
  readonly low: number;
  readonly high: number;
}

/** A linear whose inputs and outputs stay within bounds that were measured in training. */
export interface ClippedLinear<Out extends Axis, In extends Axis> {
  readonly weight: Matrix<Out, In>;
  /** null = no bounds. */
  readonly clip: { readonly input: Clip; readonly output: Clip } | null;
}

/** `[R, Out]`: y = clamp(clamp(x, input) · Wᵀ, output). */
export function clippedLinear<R extends RowAxis, Out extends Axis, In extends Axis>(
  ops: Ops,
  x: Value<R, In>,
  { weight, clip }: ClippedLinear<Out, NoInfer<In>>,
): Value<R, Out> {
  if (clip === null) return ops.linear(x, weight);
  return ops.clamp(ops.linear(ops.clamp(x, clip.input), weight), clip.output);
}
