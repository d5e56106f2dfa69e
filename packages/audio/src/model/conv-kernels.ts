import type { TensorView } from '@markbase/loader';
import type { Axis, ConvKernel, DepthwiseKernel, WeightMapper } from '@markbase/metal-runtime';

const TAPS = 3;

/**
 * A 3 × 3 convolution, stored as [out, in, time, frequency] (Hugging Face) or [out, time, frequency, in] (MLX); the shape
 * tells which.
 */
export async function loadConvKernel(
  mapper: WeightMapper<TensorView>,
  name: string,
  outChannels: number,
  inChannels: number,
): Promise<ConvKernel> {
  const channelFirst = [outChannels, inChannels, TAPS, TAPS];
  const channelLast = [outChannels, TAPS, TAPS, inChannels];
  const { values, shape } = await mapper.numbers(name, channelFirst, channelLast);
  const isChannelFirst = `${shape}` === `${channelFirst}`;
  const taps = TAPS * TAPS;
  const made = new Float32Array(values.length);
  for (let out = 0; out < outChannels; out++) {
    for (let tap = 0; tap < taps; tap++) {
      for (let channel = 0; channel < inChannels; channel++) {
        const at = isChannelFirst ? channel * taps + tap : tap * inChannels + channel;
        made[(tap * inChannels + channel) * outChannels + out] = values[out * taps * inChannels + at]!;
      }
    }
  }
  return { inChannels, outChannels, data: mapper.uploadFloats(made, name) };
}

/** A convolution of each channel, stored as [channels, 1, taps] (Hugging Face) or [channels, taps, 1] (MLX). */
export async function loadDepthwiseKernel<A extends Axis>(
  mapper: WeightMapper<TensorView>,
  name: string,
  channels: number,
  taps: number,
): Promise<DepthwiseKernel<A>> {
  const { values } = await mapper.numbers(name, [channels, 1, taps], [channels, taps, 1]);
  const made = Float32Array.from(
    values,
    (_, at) => values[(at % channels) * taps + Math.floor(at / channels)]!,
  );
  return { taps, channels, data: mapper.uploadFloats(made, name) };
}
