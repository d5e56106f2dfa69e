import { openCheckpoint } from '@markbase/loader';
import type { Device, UploadProgress } from '@markbase/metal-runtime';
import { mixtureOfExperts } from '@markbase/moe';
import { TextModel } from '@markbase/text';
import { acquireAt } from './acquire-at.js';
import { PlantedAnswer, PlantedSource } from './planted-source.js';
import { randomTokens } from './random-tokens.js';
import { type Spread, spread } from './spread.js';

/** What `measureGuesses` measures. */
export interface GuessWorkload {
  /** Probabilities that a guess is right. */
  readonly rates: readonly number[];
  /** Tokens per measurement. */
  readonly generatedTokens: number;
  /** Number of positions in the cache before them. */
  readonly depth: number;
  readonly repetitions: number;
  readonly precision: 'high' | 'fast';
  readonly signal: AbortSignal;
  /** Called before each measurement with its description. */
  onStage(stage: string): void;
  readonly onProgress?: (progress: UploadProgress) => void;
}

/** Cost of a step with several rows of one sequence. */
export interface RowCost {
  readonly rows: number;
  readonly ms: Spread;
  /** Relative to one row. */
  readonly steps: number;
}

/** Speed with guesses that are right with probability `rate`. */
export interface GuessRate {
  readonly rate: number;
  readonly tokensPerStep: number;
  readonly rowsPerStep: number;
  readonly tokensPerSecond: Spread;
  readonly speedUp: number;
  /** The speed-up that the rate and the costs of rows let expect with the best number of guesses. */
  readonly predicted: number;
  /** That number. */
  readonly predictedGuesses: number;
}

const ROWS = [1, 2, 3, 4, 5, 6, 8];
const MOST_GUESSES = 7;
const SEED = 20_011;

/** Measures what verifying rows costs, and what guesses of known quality bring. */
export async function measureGuesses(directory: string, device: Device, workload: GuessWorkload) {
  const { signal, precision, repetitions, generatedTokens, depth, onProgress } = workload;
  workload.onStage('loading');
  const checkpoint = await openCheckpoint(directory, { signal });
  const tokens = randomTokens(checkpoint.config, SEED);
  const ids = tokens(2 * generatedTokens);
  let state = SEED;
  const source = new PlantedSource(() => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  });
  const model = await TextModel.load(checkpoint, device, {
    ...{ precision, signal, onProgress, feedForward: mixtureOfExperts },
    contextTokens: depth + 2 * generatedTokens,
    speculation: { sources: [source] },
  });
  /** Seconds and steps for the tokens of an answer. */
  const run = async (isGuessed: boolean) => {
    const { sequences } = await acquireAt(model, { batch: 1, depth, tokens, signal });
    const sequence = sequences[0]!;
    try {
      const answer = new PlantedAnswer(ids, 1);
      let token = answer.idAt(0);
      const before = model.activity;
      const begin = performance.now();
      while (answer.context.length <= generatedTokens) {
        const sampling = answer.samplingAt(answer.context.length);
        const row = { sequence, token, sampling, ...(isGuessed && { answer }) };
        const [advance] = await model.advance([row], { signal });
        for (const choice of advance!.choices) answer.context.push(choice.token);
        token = advance!.choices.at(-1)!.token;
      }
      const seconds = (performance.now() - begin) / 1000;
      const { decodeSteps, draftedTokens } = model.activity;
      const steps = decodeSteps - before.decodeSteps;
      const rows = steps + draftedTokens - before.draftedTokens;
      return { seconds, steps, rows, tokens: answer.context.length - 1 };
    } finally {
      model.release(sequences);
    }
  };
  const repeat = async (isGuessed: boolean) => {
    await run(isGuessed);
    const runs = [];
    for (let index = 0; index < repetitions; index++) runs.push(await run(isGuessed));
    return runs;
  };
  try {
    await run(false);
    const costs: RowCost[] = [];
    for (const rows of ROWS) {
      workload.onStage(`steps of ${rows} rows`);
      source.most = rows - 1;
      const runs = await repeat(rows > 1);
      // If this number of rows does not pay, steps have fewer.
      if (rows > 1 && runs.some((each) => each.rows < (rows - 0.2) * each.steps)) break;
      const ms = spread(runs.map((each) => (1000 * each.seconds) / each.steps));
      costs.push({ rows, ms, steps: ms.median / (costs[0]?.ms.median ?? ms.median) });
    }
    const plain = generatedTokens / (costs[0]!.ms.median * generatedTokens);
    const guesses: GuessRate[] = [];
    source.most = MOST_GUESSES;
    for (const rate of workload.rates) {
      workload.onStage(`guesses that are right with probability ${rate}`);
      source.rate = rate;
      const runs = await repeat(true);
      const sum = (pick: (each: (typeof runs)[number]) => number) =>
        runs.reduce((total, each) => total + pick(each), 0);
      const tokensPerSecond = spread(runs.map((each) => each.tokens / each.seconds));
      guesses.push({
        rate,
        tokensPerStep: sum((each) => each.tokens) / sum((each) => each.steps),
        rowsPerStep: sum((each) => each.rows) / sum((each) => each.steps),
        tokensPerSecond,
        speedUp: tokensPerSecond.median / (1000 * plain),
        ...predictedSpeedUp(rate, costs),
      });
    }
    const { info } = device;
    return { model: checkpoint.directory, device: info, precision, depthTokens: depth, costs, guesses };
  } finally {
    model.dispose();
  }
}

/**
 * The best speed-up with a fixed number k of guesses: the expected tokens of a step, 1 + p + … + p^k, by its cost. Costs
 * between measured numbers of rows are on a line.
 */
export function predictedSpeedUp(
  rate: number,
  costs: readonly Pick<RowCost, 'rows' | 'steps'>[],
): { predicted: number; predictedGuesses: number } {
  let best = { predicted: 1, predictedGuesses: 0 };
  let tokens = 1;
  for (let guesses = 1; guesses < costs.at(-1)!.rows; guesses++) {
    tokens += rate ** guesses;
    const after = costs.find(({ rows }) => rows >= guesses + 1)!;
    const before = costs.findLast(({ rows }) => rows <= guesses + 1)!;
    const share = after === before ? 0 : (guesses + 1 - before.rows) / (after.rows - before.rows);
    const predicted = tokens / (before.steps + share * (after.steps - before.steps));
    if (predicted > best.predicted) best = { predicted, predictedGuesses: guesses };
  }
  return best;
}
