/** A medium as it comes in a request, before it is encoded. A message part holds it instead of soft tokens. */
export interface MediaSource {
  /** The bytes, or the URL to fetch. */
  readonly data: Uint8Array | URL;
  /** Maximum number of soft tokens of an image. */
  readonly budget?: number;
  /** Container format that the request names. */
  readonly format?: string;
  /** Parameter that it came from, for error messages. */
  readonly param: string;
}

/** Soft tokens for each level of `detail`. */
const BUDGET_OF_DETAIL: Readonly<Record<string, number | undefined>> = {
  low: 70,
  high: 1120,
  original: 1120,
  auto: undefined,
};

/** The soft-token budget that a request asks for, as a number or as a level of detail. */
export function budgetOf(detail: string | null | undefined, tokens?: number | null): { budget?: number } {
  const budget = tokens ?? BUDGET_OF_DETAIL[detail ?? 'auto'];
  return budget === undefined ? {} : { budget };
}
