import type { ConformanceCase, ConformanceFamily } from '../../conformance/conformance-case.js';
import { normalArray } from '../../conformance/random.js';
import type { SamplingParams } from '../../src/index.js';

/** Number of alternatives that every row of the tables requests. */
const ALTERNATIVES = 5;

/** splitmix64's finaliser. */
function mix(z: bigint): bigint {
  const wrap = (x: bigint) => BigInt.asUintN(64, x);
  const once = wrap((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  const twice = wrap((once ^ (once >> 27n)) * 0x94d049bb133111ebn);
  return twice ^ (twice >> 31n);
}

/** The uniform number for a seed and draw: 53 bits of mix(mix(seed) + (draw + 1) · golden ratio). */
function uniformOracle(seed: number, draw: number): number {
  const z = mix(BigInt.asUintN(64, mix(BigInt(seed)) + (BigInt(draw) + 1n) * 0x9e3779b97f4a7c15n));
  return Number(z >> 11n) / 2 ** 53;
}

/** Suppression, mask, bias and penalties; NaN counts as −∞. */
function penalise(logits: Float32Array, params: SamplingParams, suppressed: readonly number[]): Float64Array {
  const { repetitionPenalty = 1, presencePenalty = 0, frequencyPenalty = 0, history = new Map() } = params;
  const penalised = Float64Array.from(logits, (x) => (Number.isNaN(x) ? Number.NEGATIVE_INFINITY : x));
  for (const id of suppressed) penalised[id] = Number.NEGATIVE_INFINITY;
  const { allowed, logitBias = new Map<number, number>() } = params;
  const isAllowed = (id: number) => !allowed || ((allowed[id >> 5]! >>> (id & 31)) & 1) === 1;
  for (const id of penalised.keys()) if (!isAllowed(id)) penalised[id] = Number.NEGATIVE_INFINITY;
  for (const [id, value] of logitBias) penalised[id]! += Math.fround(value);
  for (const [id, count] of history) {
    const x = penalised[id]!;
    penalised[id] = x > 0 ? x / repetitionPenalty : x * repetitionPenalty;
    if (count > 0) penalised[id]! -= presencePenalty + frequencyPenalty * count;
  }
  return penalised;
}

/** Ids from best to worst: by larger logit, then by lower id. */
function ranking(logits: Float64Array): number[] {
  return [...logits.keys()]
    .sort((a, b) => logits[b]! - logits[a]! || a - b)
    .filter((id) => logits[id]! > -1e300);
}

function chooseOracle(logits: Float64Array, ranked: readonly number[], params: SamplingParams): number {
  const { temperature = 0, topK = 0, topP = 1, minP = 0, seed = 0, draw = 0 } = params;
  if (temperature === 0) return ranked[0]!;
  const best = logits[ranked[0]!]!;
  const weight = (id: number) => Math.exp((logits[id]! - best) / temperature);
  let kept = topK > 0 ? ranked.slice(0, topK) : [...ranked];
  const total = kept.reduce((sum, id) => sum + weight(id), 0);
  if (topP < 1) {
    let running = 0;
    const last = kept.findIndex((id) => {
      running += weight(id);
      return running >= topP * total;
    });
    kept = kept.slice(0, last + 1);
  }
  kept = kept.filter((id) => weight(id) >= minP).sort((a, b) => a - b);
  const target = uniformOracle(seed, draw) * kept.reduce((sum, id) => sum + weight(id), 0);
  let running = 0;
  for (const id of kept) {
    running += weight(id);
    if (running > target) return id;
  }
  return kept.at(-1)!;
}

interface SampleCase {
  readonly title: string;
  readonly vocabulary: number;
  readonly sampling: readonly SamplingParams[];
  readonly suppressed?: readonly number[];
  /** Spread of the logits. */
  readonly scale?: number;
  /** Changes the logits of a row before use. */
  readonly edit?: (row: Float32Array) => void;
}

function sampleCase({
  title,
  vocabulary,
  sampling,
  suppressed = [],
  scale = 3,
  edit,
}: SampleCase): ConformanceCase {
  const rows = sampling.length;
  const logits = normalArray(401, rows * vocabulary, scale);
  for (let r = 0; edit && r < rows; r++) edit(logits.subarray(r * vocabulary, (r + 1) * vocabulary));
  const params = sampling.map((one) => ({ topLogprobs: ALTERNATIVES, ...one }));
  return {
    name: `${title} [${rows}, ${vocabulary}]`,
    rows: { count: rows, outputRows: Int32Array.from({ length: rows }, (_, r) => r), sampling: params },
    inputs: { logits: { rows: 'N', width: vocabulary, data: logits } },
    outputs: [],
    record: (ops) => ops.sample(ops.input('logits', 'N', { axis: 'V', size: vocabulary }), { suppressed }),
    oracle() {
      const [tokens, logprobs, topTokens, topLogprobs]: number[][] = [[], [], [], []];
      for (const [r, one] of params.entries()) {
        const penalised = penalise(logits.subarray(r * vocabulary, (r + 1) * vocabulary), one, suppressed);
        const ranked = ranking(penalised);
        const best = penalised[ranked[0]!]!;
        const logTotal = Math.log(ranked.reduce((sum, id) => sum + Math.exp(penalised[id]! - best), 0));
        const logprob = (id: number) => penalised[id]! - best - logTotal;
        const token = chooseOracle(penalised, ranked, one);
        tokens!.push(token);
        logprobs!.push(logprob(token));
        topTokens!.push(...ranked.slice(0, one.topLogprobs));
        topLogprobs!.push(...ranked.slice(0, one.topLogprobs).map(logprob));
      }
      return { tokens: tokens!, logprobs: logprobs!, topTokens: topTokens!, topLogprobs: topLogprobs! };
    },
    // Log-probabilities are sums of exponentials accurate to 1.2e-7; ids differ by at least 1, so any wrong id fails.
    tolerance: { absolute: 1e-5, relative: 1e-6 },
  };
}

const draws = (count: number, params: SamplingParams): SamplingParams[] =>
  Array.from({ length: count }, (_, draw) => ({ temperature: 1, seed: 2 ** 40 + 12_345, draw, ...params }));
const HISTORY = new Map([
  [3, 0],
  [5, 2],
  [17, 1],
  [30, 7],
]);
const BIAS = new Map([
  [4, 100],
  [5, 8],
  [30, -100],
  [69, 2.5],
]);
const VOCABULARY = 262_144;

/** Allows the ids that are multiples of `step`. */
function maskOf(vocabulary: number, step: number): Int32Array {
  const words = new Int32Array(Math.ceil(vocabulary / 32));
  for (let id = 0; id < vocabulary; id += step) words[id >> 5]! |= 1 << (id & 31);
  return words;
}

export const sample: ConformanceFamily = {
  name: 'sample',
  cases: [
    sampleCase({ title: 'greedy', vocabulary: VOCABULARY, sampling: [{}, { topLogprobs: 20 }] }),
    sampleCase({ title: 'greedy', vocabulary: 33, sampling: [{}, {}, {}] }),
    sampleCase({
      title: 'lowest of equal maxima',
      vocabulary: 20_000,
      sampling: [{}],
      edit: (row) => {
        for (const id of [19_999, 17_001, 9000, 12_345]) row[id] = 50;
      },
    }),
    sampleCase({
      title: 'all equal',
      vocabulary: 1000,
      scale: 0,
      sampling: [{}, ...draws(3, {}), ...draws(3, { topK: 7 })],
    }),
    sampleCase({ title: 'temperature', vocabulary: 1000, sampling: draws(20, { temperature: 0.7 }) }),
    sampleCase({
      title: 'temperature',
      vocabulary: VOCABULARY,
      scale: 1,
      sampling: draws(2, { temperature: 1.5 }),
    }),
    sampleCase({
      title: 'top-k and top-p',
      vocabulary: VOCABULARY,
      sampling: draws(2, { topK: 64, topP: 0.95 }),
    }),
    sampleCase({
      title: 'top-p of many',
      vocabulary: VOCABULARY,
      scale: 1,
      sampling: draws(1, { topP: 0.5 }),
    }),
    sampleCase({ title: 'top-k', vocabulary: 1001, sampling: draws(20, { topK: 5 }) }),
    sampleCase({ title: 'top-k of one', vocabulary: 1001, sampling: draws(3, { topK: 1, temperature: 5 }) }),
    sampleCase({
      title: 'top-k above the vocabulary',
      vocabulary: 7,
      sampling: draws(7, { topK: 64, topP: 0.9 }),
    }),
    sampleCase({ title: 'top-p', vocabulary: 1001, sampling: draws(20, { topP: 0.8 }) }),
    sampleCase({ title: 'tiny top-p', vocabulary: 1001, sampling: draws(3, { topP: 1e-6, temperature: 2 }) }),
    sampleCase({ title: 'min-p', vocabulary: 1001, sampling: draws(20, { minP: 0.1 }) }),
    sampleCase({
      title: 'all filters',
      vocabulary: 1001,
      sampling: draws(20, { topK: 50, topP: 0.9, minP: 0.05, temperature: 1.3 }),
    }),
    sampleCase({
      title: 'suppressed',
      vocabulary: 40,
      suppressed: [0, 7, 39],
      sampling: [{}, ...draws(7, {})],
      edit: (row) => {
        row[7] = 20;
      },
    }),
    sampleCase({
      title: 'penalties',
      vocabulary: 40,
      scale: 2,
      sampling: [
        { repetitionPenalty: 1.7, history: HISTORY },
        { presencePenalty: 1.1, history: HISTORY },
        { frequencyPenalty: -0.6, history: HISTORY },
        ...draws(7, {
          repetitionPenalty: 1.2,
          presencePenalty: 0.5,
          frequencyPenalty: 0.3,
          topK: 20,
          history: HISTORY,
        }),
      ],
    }),
    sampleCase({
      title: 'masks',
      vocabulary: 1001,
      sampling: [
        { allowed: maskOf(1001, 3) },
        {},
        ...draws(5, { allowed: maskOf(1001, 7) }),
        ...draws(5, { allowed: maskOf(1001, 50), topK: 5 }),
      ],
    }),
    sampleCase({
      title: 'masks',
      vocabulary: VOCABULARY,
      sampling: draws(2, { allowed: maskOf(VOCABULARY, 1000) }),
    }),
    sampleCase({
      title: 'bias',
      vocabulary: 70,
      // An id that also has a bias, at another place in its list, so that another thread reaches it.
      suppressed: [9, 4],
      sampling: [
        { logitBias: BIAS },
        ...draws(10, { logitBias: BIAS, allowed: maskOf(70, 2), presencePenalty: 0.5, history: HISTORY }),
        {},
      ],
    }),
    sampleCase({
      title: 'NaN and infinity',
      vocabulary: 100,
      sampling: [{}, ...draws(7, {}), ...draws(2, { topK: 3 })],
      edit: (row) => {
        row.fill(Number.NaN, 10, 30);
        row.fill(Number.NEGATIVE_INFINITY, 50, 99);
      },
    }),
    sampleCase({
      title: 'neighbours',
      vocabulary: 333,
      sampling: [{}, ...draws(2, { topK: 9 }), { repetitionPenalty: 2, history: HISTORY }, ...draws(60, {})],
    }),
  ],
};
