import { InvalidArgumentError } from './errors.js';

/** A name for each option of `Options`, for `checkOptionNames`: the compiler requires all of them. */
export type OptionNames<Options> = Readonly<Record<keyof Required<Options>, true>>;

/**
 * Refuses options that do not exist, which are misspelled or written as in another interface: they would have no effect.
 *
 * @param options What a caller gave.
 * @param known The names of all options.
 * @param other Names that other interfaces use, such as `max_new_tokens`, and what they are called here.
 * @param prefix Where the options are, such as `limits.`, for the error.
 * @throws InvalidArgumentError that suggests the nearest name
 */
export function checkOptionNames(
  options: object,
  known: Readonly<Record<string, true>>,
  { other = {}, prefix = '' }: { other?: Readonly<Record<string, string>>; prefix?: string } = {},
): void {
  if (typeof options !== 'object' || options === null) {
    throw new InvalidArgumentError({ argument: 'options', expected: 'an object', received: options });
  }
  for (const [name, received] of Object.entries(options)) {
    if (Object.hasOwn(known, name)) continue;
    const names = Object.keys(known);
    const meant = Object.hasOwn(other, name) ? other[name] : nearest(name, names);
    throw new InvalidArgumentError({
      argument: `${prefix}${name}`,
      expected: meant === undefined ? `one of ${names.join(', ')}` : `no option of this name`,
      received,
      ...(meant !== undefined && { hint: `Did you mean ${meant}?` }),
    });
  }
}

/** The name that differs in spelling only, or in few letters. */
function nearest(name: string, names: readonly string[]): string | undefined {
  const wanted = plain(name);
  const distances = names.map((candidate) => ({
    candidate,
    distance: editDistance(wanted, plain(candidate)),
  }));
  distances.sort((a, b) => a.distance - b.distance);
  const best = distances[0];
  return best !== undefined && best.distance <= Math.min(2, wanted.length / 3) ? best.candidate : undefined;
}

function plain(name: string): string {
  return name.replaceAll(/[_-]/g, '').toLowerCase();
}

/** Letters to insert, remove or replace. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; ++i) {
    const next = [i];
    for (let j = 1; j <= b.length; ++j) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
