import type { Difference } from './compare.js';

/** One thing that verification looked at. */
export interface VerifySection {
  readonly name: string;
  /** False when it is wrong, and for everything that was skipped. */
  readonly pass: boolean;
  /** Why the section was not looked at; absent when it was. */
  readonly skipped?: string;
  readonly relRms?: number;
  readonly maxAbs?: number;
  /** Largest relRms that passes; null = the figures are for information, only NaN and infinity fail. */
  readonly tolerance?: number | null;
  /** Greedy tokens are those of the reference, as far as its margins exceed the error. */
  readonly tokensEqual?: boolean;
}

/** What a verification found. */
export interface VerifyReport {
  readonly directory: string;
  readonly precision: 'high' | 'fast';
  /** No section failed and at least one was judged. Skipped sections neither pass nor fail. */
  readonly pass: boolean;
  readonly sections: readonly VerifySection[];
}

/** A section that was not looked at. */
export function skippedSection(name: string, reason: string): VerifySection {
  return { name, pass: false, skipped: reason };
}

/** A section judged by its relative error; a tolerance of 0 asks for identical bits. */
export function judgedSection(
  name: string,
  difference: Difference,
  tolerance: number | null,
  tokensEqual?: boolean,
): VerifySection {
  const { relRms, maxAbs, isAllFinite } = difference;
  const isClose = tolerance === null || (tolerance === 0 ? maxAbs === 0 : relRms <= tolerance);
  const pass = isAllFinite && isClose && (tokensEqual ?? true);
  return { name, pass, relRms, maxAbs, tolerance, ...(tokensEqual !== undefined && { tokensEqual }) };
}

/** Sums sections up. */
export function reportOf(
  directory: string,
  precision: 'high' | 'fast',
  sections: readonly VerifySection[],
): VerifyReport {
  const judged = sections.filter((section) => section.skipped === undefined);
  return {
    directory,
    precision,
    pass: judged.length > 0 && judged.every((section) => section.pass),
    sections,
  };
}
