/** Something that is wrong, or looks wrong. */
export interface Finding {
  /** error: the checkpoint cannot be used as it is. warning: it can, but should be looked at. */
  readonly level: 'error' | 'warning';
  /** Code of the error class, or the kind of the warning. */
  readonly code: string;
  /** Tensor, module or file concerned. */
  readonly subject: string;
  /** What is wrong, as a sentence. */
  readonly message: string;
}

/** At most three names of a list, and how many more there are. */
export function someOf(names: readonly string[]): string {
  const shown = names.slice(0, 3).join(', ');
  return names.length > 3 ? `${shown} and ${names.length - 3} more` : shown;
}
