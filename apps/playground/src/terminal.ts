type Stream = Pick<NodeJS.WriteStream, 'isTTY'>;

/** True for a terminal that understands cursor movements. */
export function canRedraw(stream: Stream): boolean {
  return stream.isTTY === true && process.env.TERM !== 'dumb';
}

/** True for a terminal whose user did not ask for plain text (https://no-color.org). */
export function canStyle(stream: Stream): boolean {
  return canRedraw(stream) && !process.env.NO_COLOR;
}
