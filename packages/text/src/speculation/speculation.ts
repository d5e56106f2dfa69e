import type { DecodeRow } from '../engine/decode-queue.js';
import { Acceptance } from './acceptance.js';
import { Draft, type DraftToken } from './draft.js';
import { type DraftProspect, draftLengths } from './draft-lengths.js';
import type { DraftRequest, DraftSource, GuessedAnswer, RunProgram } from './draft-source.js';
import { StepCosts } from './step-costs.js';

/** Probability that a guess is right, before anything was guessed. */
const FIRST_ACCEPTANCE = 0.7;
/** Maximum number of rows in a step with guesses. */
const MAX_ROWS = 32;
/** Numbers of rows of the steps that are measured before the first guess. */
const MEASURED_ROWS = [1, 2, 4, 8];
/** Weight of a new measurement of a source. */
const NEWS = 0.2;

/** How tokens are guessed. */
export interface SpeculationParts {
  /** In order of preference. */
  readonly sources: readonly DraftSource[];
  /** Tokens guessed per step, as far as the source can; null = what measurements suggest. */
  readonly draftTokens: number | null;
  /** Ids that are never sampled. */
  readonly excluded: ReadonlySet<number>;
}

/** A row of a step, and what is guessed to follow its token. */
export interface DraftedRow {
  readonly row: DecodeRow;
  readonly drafted: readonly DraftToken[];
  readonly source: DraftSource | null;
}

/** A source, and what was measured of it. */
interface KnownSource {
  readonly source: DraftSource;
  readonly acceptance: Acceptance;
  /** Milliseconds per guessed token; null = not measured. */
  tokenMs: number | null;
}

/** A source that can guess for a row. */
interface Prospect extends DraftProspect {
  readonly source: KnownSource;
  readonly estimate: Acceptance;
  readonly answer: GuessedAnswer;
}

/** Decides which guessed tokens a step verifies, from what guesses and steps have cost and brought so far. */
export class Speculation {
  readonly #sources: readonly KnownSource[];
  readonly #parts: SpeculationParts;
  readonly #costs = new StepCosts();
  readonly #estimates = new WeakMap<GuessedAnswer, Map<DraftSource, Acceptance>>();
  #isMeasured: boolean;

  constructor(parts: SpeculationParts) {
    this.#parts = parts;
    this.#isMeasured = parts.draftTokens !== null;
    this.#sources = parts.sources.map((source) => {
      return { source, acceptance: new Acceptance(FIRST_ACCEPTANCE), tokenMs: null };
    });
  }

  /** Numbers of rows of steps to run, a few times each, before the first guess; none if that was done. */
  takeMeasurements(): readonly number[] {
    const rows = this.#isMeasured ? [] : MEASURED_ROWS;
    this.#isMeasured = true;
    return rows;
  }

  /** Guesses what follows the rows of a step; in most steps, nothing for some of them. */
  async draft(rows: readonly DecodeRow[], run: RunProgram): Promise<DraftedRow[]> {
    const prospects = rows.map((row) => this.#prospect(row));
    const lengths = this.#lengths(prospects);
    const drafts = new Map<DecodeRow, { draft: Draft; source: DraftSource }>();
    for (const known of this.#sources) {
      const requests: DraftRequest[] = [];
      for (const [index, row] of rows.entries()) {
        const prospect = prospects[index];
        const future = prospect?.source === known && lengths[index]! > 0 ? prospect.answer.fork() : null;
        if (!prospect || !future) continue;
        const draft = new Draft(future, row.sampling ?? {}, {
          limit: lengths[index]!,
          excluded: this.#parts.excluded,
        });
        drafts.set(row, { draft, source: known.source });
        requests.push({ answer: prospect.answer, sequence: row.sequence, draft });
      }
      if (requests.length > 0) await timed(known, requests, run);
    }
    return rows.map((row) => {
      const { draft, source } = drafts.get(row) ?? {};
      return { row, drafted: draft?.tokens ?? [], source: source ?? null };
    });
  }

  /** Counts what a step has brought. */
  learn({ row, drafted, source }: DraftedRow, accepted: number): void {
    if (source && drafted.length > 0) this.#estimate(row.answer!, source).add(drafted.length, accepted);
  }

  /** Takes the time of a step. */
  record(rows: number, ms: number): void {
    this.#costs.record(rows, ms);
  }

  /** Frees what the sources hold. */
  dispose(): void {
    for (const { source } of this.#sources) source.dispose?.();
  }

  /** The source that is right most often, of those that can guess something. */
  #prospect({ answer }: DecodeRow): Prospect | null {
    if (!answer) return null;
    let best: Prospect | null = null;
    for (const source of this.#sources) {
      const reach = source.source.reach(answer);
      if (reach === 0) continue;
      const estimate = this.#estimate(answer, source.source);
      const acceptance = estimate.estimate;
      if (best && best.acceptance >= acceptance) continue;
      best = { source, estimate, answer, reach, acceptance, tokenMs: source.tokenMs ?? 0 };
    }
    return best;
  }

  #lengths(prospects: readonly (Prospect | null)[]): number[] {
    const { draftTokens } = this.#parts;
    if (draftTokens !== null) return prospects.map((prospect) => Math.min(prospect?.reach ?? 0, draftTokens));
    const lengths = draftLengths(prospects, (rows) => this.#costs.of(rows), MAX_ROWS);
    return lengths.map((length, index) => (length === 0 && prospects[index]?.estimate.skip() ? 1 : length));
  }

  #estimate(answer: GuessedAnswer, source: DraftSource): Acceptance {
    const ofAnswer = this.#estimates.get(answer) ?? new Map<DraftSource, Acceptance>();
    this.#estimates.set(answer, ofAnswer);
    const prior = this.#sources.find((known) => known.source === source)!.acceptance;
    const estimate = ofAnswer.get(source) ?? new Acceptance(prior);
    ofAnswer.set(source, estimate);
    return estimate;
  }
}

/** Lets a source guess, and measures it. */
async function timed(known: KnownSource, requests: readonly DraftRequest[], run: RunProgram): Promise<void> {
  const begin = performance.now();
  await known.source.draft(requests, run);
  const longest = Math.max(...requests.map(({ draft }) => draft.tokens.length), 1);
  const ms = (performance.now() - begin) / longest;
  // The first time includes recording programs.
  known.tokenMs =
    known.tokenMs === null ? 0 : known.tokenMs === 0 ? ms : known.tokenMs + NEWS * (ms - known.tokenMs);
}
