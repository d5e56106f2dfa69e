/** How one sample is stored; `le` and `be` are the order of its bytes. */
export type PcmEncoding =
  | 'u8'
  | 's8'
  | 's16le'
  | 's16be'
  | 's24le'
  | 's24be'
  | 's32le'
  | 's32be'
  | 'f32le'
  | 'f32be'
  | 'f64le'
  | 'f64be'
  | 'alaw'
  | 'mulaw';

interface Encoding {
  readonly sampleBytes: number;
  /** The sample at byte `at`, in [-1, 1). */
  read(view: DataView, at: number): number;
}

/** Every encoding, with its width and how to read it. */
export const PCM_ENCODINGS: Readonly<Record<PcmEncoding, Encoding>> = {
  u8: { sampleBytes: 1, read: (view, at) => (view.getUint8(at) - 128) / 128 },
  s8: { sampleBytes: 1, read: (view, at) => view.getInt8(at) / 128 },
  s16le: { sampleBytes: 2, read: (view, at) => view.getInt16(at, true) / 2 ** 15 },
  s16be: { sampleBytes: 2, read: (view, at) => view.getInt16(at, false) / 2 ** 15 },
  s24le: {
    sampleBytes: 3,
    read: (view, at) => (view.getUint16(at, true) + view.getInt8(at + 2) * 2 ** 16) / 2 ** 23,
  },
  s24be: {
    sampleBytes: 3,
    read: (view, at) => (view.getInt16(at, false) * 2 ** 8 + view.getUint8(at + 2)) / 2 ** 23,
  },
  s32le: { sampleBytes: 4, read: (view, at) => view.getInt32(at, true) / 2 ** 31 },
  s32be: { sampleBytes: 4, read: (view, at) => view.getInt32(at, false) / 2 ** 31 },
  f32le: { sampleBytes: 4, read: (view, at) => view.getFloat32(at, true) },
  f32be: { sampleBytes: 4, read: (view, at) => view.getFloat32(at, false) },
  f64le: { sampleBytes: 8, read: (view, at) => view.getFloat64(at, true) },
  f64be: { sampleBytes: 8, read: (view, at) => view.getFloat64(at, false) },
  alaw: { sampleBytes: 1, read: (view, at) => A_LAW[view.getUint8(at)]! },
  mulaw: { sampleBytes: 1, read: (view, at) => MU_LAW[view.getUint8(at)]! },
};

/** G.711 A-law: sign, three bits of exponent, four of mantissa, every second bit inverted. */
const A_LAW = Float32Array.from({ length: 256 }, (_, code) => {
  const bits = code ^ 0x55;
  const exponent = (bits >> 4) & 7;
  const mantissa = bits & 15;
  const step = exponent === 0 ? 2 * mantissa + 1 : (2 * mantissa + 33) << (exponent - 1);
  return ((bits & 0x80 ? 1 : -1) * step) / 2 ** 12;
});

/** G.711 mu-law: sign, three bits of exponent, four of mantissa, all inverted, with a bias of 33. */
const MU_LAW = Float32Array.from({ length: 256 }, (_, code) => {
  const bits = ~code & 0xff;
  const step = ((2 * (bits & 15) + 33) << ((bits >> 4) & 7)) - 33;
  return ((bits & 0x80 ? -1 : 1) * step) / 2 ** 13;
});
