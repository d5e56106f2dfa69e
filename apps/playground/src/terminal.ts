import wrapAnsi from 'wrap-ansi';

type Stream = Pick<NodeJS.WriteStream, 'isTTY'>;

/** True for a terminal that understands cursor movements. */
export function canRedraw(stream: Stream): boolean {
  return stream.isTTY === true && process.env.TERM !== 'dumb';
}

/** True for a terminal whose user did not ask for plain text (https://no-color.org). */
export function canStyle(stream: Stream): boolean {
  return canRedraw(stream) && !process.env.NO_COLOR;
}

/** Text in which no word is broken at the edge of the terminal; as it is for anything else. */
export function wrapped(text: string, stream: Stream & { readonly columns?: number }): string {
  if (!canRedraw(stream)) return text;
  return wrapAnsi(text, Math.max(20, (stream.columns || 80) - 1), { hard: true, trim: false });
}
