/** A medium as a request gives it, before it is encoded. Takes the place of soft tokens in a message part. */
export interface MediaSource {
  /** Bytes, or where to fetch them. */
  readonly data: Uint8Array | URL;
  /** Most soft tokens of an image. */
  readonly budget?: number;
  /** Container that the request names. */
  readonly format?: string;
  /** Parameter that gave it, for errors. */
  readonly param: string;
}

/** What `detail` means in soft tokens. */
const BUDGET_OF_DETAIL: Readonly<Record<string, number | undefined>> = {
  low: 70,
  high: 1120,
  auto: undefined,
};

/** The budget that a request asks for: a number of soft tokens, or a level of detail. */
export function budgetOf(detail: string | null | undefined, tokens?: number | null): { budget?: number } {
  const budget = tokens ?? BUDGET_OF_DETAIL[detail ?? 'auto'];
  return budget === undefined ? {} : { budget };
}
