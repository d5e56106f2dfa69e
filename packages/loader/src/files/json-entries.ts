/** A string, or a number. Those that JavaScript would rewrite or refuse, such as `30.0` and `-Infinity`, must not change. */
const LITERALS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|-?\b(?:Infinity|NaN)\b/g;

/**
 * A JSON object as text, with `entries` added or replaced. Numbers keep their spelling: other readers insist on `30.0`
 * where a setting is a float, and `JSON.stringify` would write `30`.
 *
 * @param text a valid JSON object
 */
export function withJsonEntries(text: string, entries: Readonly<Record<string, unknown>>): string {
  let mark = '#';
  while (text.includes(mark)) mark += '#';
  const marked = text.replace(LITERALS, (literal) =>
    literal.startsWith('"') || /^-?\d+$/.test(literal) ? literal : `"${mark}${literal}${mark}"`,
  );
  const edited = JSON.stringify({ ...JSON.parse(marked), ...entries }, null, 2);
  return `${edited.replaceAll(`"${mark}`, '').replaceAll(`${mark}"`, '')}\n`;
}
