// Reads the parameter struct of a family from its header.

/** A file is not a parameter header; the message says what is wrong. */
export class FamilyError extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message);
    this.name = 'FamilyError';
  }
}

/** @typedef {{ name: string, type: 'uint32_t' | 'float' }} Field */

/**
 * The fields of a struct; an array of structs, at most one, is returned as `array`.
 *
 * @param {string} family
 * @param {string} body
 */
function readFields(family, body) {
  /** @type {Field[]} */
  const fields = [];
  let array = null;
  for (const line of body.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '').split('\n')) {
    if (line.trim() === '') continue;
    const field = /^\s*(uint32_t|float) (\w+);\s*$/.exec(line);
    const structs = /^\s*(\w+) weight\[(\d+)\];\s*$/.exec(line);
    if (field) fields.push({ name: field[2] ?? '', type: field[1] === 'float' ? 'float' : 'uint32_t' });
    else if (structs) array = { struct: structs[1] ?? '', count: Number(structs[2]) };
    else throw new FamilyError(`${family}_params.h: "${line.trim()}" is neither a word nor weight[n]`);
  }
  return { fields, array };
}

/**
 * Reads the header of a family: the last struct holds the parameters of its commands. `MARKBASE_<FAMILY>_OPERANDS` is the number of
 * operands, null if the family's check counts them; `MARKBASE_<FAMILY>_ROW_SET` the rows of every command, null if the field row_set gives
 * them.
 *
 * @param {string} family
 * @param {string} text
 */
export function readParams(family, text) {
  const structs = new Map(
    [...text.matchAll(/^struct (\w+) \{\n([\s\S]*?)^\};/gm)].map(([, name = '', body = '']) => [
      name,
      readFields(family, body),
    ]),
  );
  const [struct, own] = [...structs].at(-1) ?? [];
  if (struct === undefined || own === undefined) throw new FamilyError(`${family}_params.h has no struct`);
  const weightFields = own.array === null ? undefined : structs.get(own.array.struct)?.fields;
  if (own.array !== null && weightFields === undefined) {
    throw new FamilyError(`${family}_params.h: there is no struct ${own.array.struct}`);
  }
  const rowSet = macro(family, 'ROW_SET', text);
  const hasField = own.fields.some(({ name }) => name === 'row_set');
  if (hasField === (rowSet !== null)) {
    throw new FamilyError(
      `${family}_params.h needs a field row_set or MARKBASE_${family.toUpperCase()}_ROW_SET`,
    );
  }
  return {
    struct,
    fields: own.fields,
    weights: own.array === null ? null : { ...own.array, fields: weightFields ?? [] },
    operands: macro(family, 'OPERANDS', text),
    rowSet,
  };
}

/** @param {string} family @param {string} name @param {string} text */
function macro(family, name, text) {
  const value = new RegExp(`^#define MARKBASE_${family.toUpperCase()}_${name} (\\d+)\\b`, 'm').exec(
    text,
  )?.[1];
  return value === undefined ? null : Number(value);
}
