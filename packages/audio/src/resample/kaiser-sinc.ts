/** Lobes of the sinc on each side of its centre: the more, the steeper the edge at the Nyquist frequency. */
const LOBES = 48;
/** Cut-off as a fraction of the smaller Nyquist frequency, so that the transition band ends there. */
const ROLL_OFF = 0.9475;
/** Shape of the Kaiser window: 80 dB of attenuation. */
const KAISER_BETA = 0.1102 * (80 - 8.7);

/** A low-pass filter as a function of time, measured in input samples. */
export interface LowPass {
  /** Input samples on each side that contribute to an output sample. */
  readonly reach: number;
  /** `h(t) = f · sinc(f t) · kaiser(t / reach)`; 0 from `reach` on. */
  at(t: number): number;
}

/**
 * Low-pass filter for changing a sample rate: a sinc with its cut-off below the smaller of both Nyquist frequencies, under
 * a Kaiser window. In the pass band, up to 0.89 of that Nyquist frequency, its gain is 1 within 0.01 dB; above it, -80 dB.
 *
 * @param ratio output rate / input rate
 */
export function kaiserSinc(ratio: number): LowPass {
  const cutOff = Math.min(1, ratio) * ROLL_OFF;
  const reach = LOBES / cutOff;
  const scale = 1 / besselI0(KAISER_BETA);
  return {
    reach,
    at(t) {
      const share = t / reach;
      if (share <= -1 || share >= 1) return 0;
      const window = besselI0(KAISER_BETA * Math.sqrt(1 - share * share)) * scale;
      return cutOff * sinc(cutOff * t) * window;
    },
  };
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
}

/** The modified Bessel function of the first kind and order 0, by its power series. */
function besselI0(x: number): number {
  let term = 1;
  let sum = 1;
  for (let k = 1; term > sum * 1e-17; k += 1) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}
