import type { Difference } from './compare.js';

/** One part of a verification. */
export interface VerifySection {
  /** What was compared, such as `logits`. */
  readonly name: string;
  /** False when it is wrong, and for everything that was skipped. */
  readonly pass: boolean;
  /** Why the section was skipped; absent if it was checked. */
  readonly skipped?: string;
  /** Root mean square of the differences, relative to that of the reference. */
  readonly relRms?: number;
  /** The largest absolute difference. */
  readonly maxAbs?: number;
  /** Largest relRms that passes; null = the figures are informative, and only NaN or infinity fails. */
  readonly tolerance?: number | null;
  /** True if greedy tokens equal the reference's wherever its margins exceed the error. */
  readonly tokensEqual?: boolean;
}

/** What a verification found. */
export interface VerifyReport {
  /** Folder of the checkpoint. */
  readonly directory: string;
  /** Precision in which the model ran. */
  readonly precision: 'high' | 'fast';
  /** No section failed and at least one was judged. Skipped sections neither pass nor fail. */
  readonly pass: boolean;
  /** What was compared, in the order of computation. */
  readonly sections: readonly VerifySection[];
}

/** A section that was skipped. */
export function skippedSection(name: string, reason: string): VerifySection {
  return { name, pass: false, skipped: reason };
}

/** A section judged by its relative error; a tolerance of 0 requires identical bits. */
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

/** Summarises sections. */
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
