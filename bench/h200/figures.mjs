// Reference figures for speed.

/**
 * Tokens per second of llama.cpp v0.5.0 on an H200 with Q4_0, which has the same bytes per weight; by number of sequences, and by prompt
 * length.
 */
export const PEER = {
  e2b: { decode: { 1: 340, 4: 1090 }, prefill: { 128: 9166, 512: 15773, 2048: 15150 } },
  e4b: { decode: { 1: 238, 4: 744 }, prefill: { 128: 6263, 512: 9672, 2048: 10014 } },
  '12b': { decode: {}, prefill: {} },
  '26b-a4b': { decode: { 1: 226, 4: 677, 16: 1091 }, prefill: { 512: 8239, 2048: 10985 } },
  '31b': { decode: { 1: 93, 4: 276, 16: 644 }, prefill: { 128: 2264, 512: 2882, 2048: 2768 } },
};

/** Required and target ratio of our rate to the peer's. */
export const REQUIRED = { decode: 1.5, prefill: 1 };
export const AIMS = {
  decode: { e2b: 3, e4b: 3, '26b-a4b': 3, '31b': 2.1 },
  prefill: { e2b: 2, e4b: 2, '26b-a4b': 2, '31b': 2 },
};

/** Tokens per second of many sequences after 128 tokens: required, and the target. For 32, twice the rate at commit 19f5c34 is required. */
export const MANY = {
  e2b: {
    32: { required: 13_716 },
    64: { required: 18_000, aim: 35_000 },
    128: { required: 28_000, aim: 50_000 },
  },
  '26b-a4b': {
    32: { required: 4668 },
    64: { required: 6000, aim: 9000 },
    128: { required: 9000, aim: 14_000 },
  },
  '31b': { 32: { required: 2606 }, 64: { required: 3300, aim: 5500 }, 128: { required: 4500, aim: 7000 } },
};

/** Milliseconds from opening the files, in the page cache, to the first token. */
export const LOAD_LIMITS_MS = { e2b: 800, '31b': 3000 };
export const ANONYMOUS_LIMIT_BYTES = 0.4e9;

/** Bytes per second of a copy on the GPU, read and written. */
export const COPY_RATE = 4.27e12;

/** At 32k and 128k positions, decode must keep this share of its roofline fraction at 1k. */
export const LONG_SHARE = 0.8;

/** Sizes of the family, smallest first. */
export const VARIANTS = Object.keys(PEER);
