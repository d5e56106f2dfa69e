import { hasErrorCode } from '@markbase/core';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Automaton } from '../../src/constraint/automaton.js';
import { JSON_DIALECT } from '../../src/constraint/dialect.js';
import { Matcher } from '../../src/constraint/matcher.js';
import type { JsonSchema } from '../../src/constraint/schema/json-schema.js';
import { schemaGrammar } from '../../src/constraint/schema/schema-grammar.js';
import { RandomSchemas } from './random-schema.js';
import { randomNumbers, walk } from './walk.js';
import { ZOD_SCHEMAS } from './zod-schemas.js';

/** Schemas per run; a full run uses `MARKBASE_SCHEMAS=10000`. */
const SCHEMAS = Number(process.env.MARKBASE_SCHEMAS ?? 1000);
const WANDER_BYTES = [0, 12, 40, 120];

const options = { strict: false, logger: false, validateFormats: true } as const;
const ajv7 = new Ajv(options);
const ajv2020 = new Ajv2020(options);
for (const ajv of [ajv7, ajv2020]) ajvFormats.default(ajv);

function matcherOf(schema: JsonSchema): Matcher {
  return new Matcher(Automaton.build(schemaGrammar(schema, JSON_DIALECT)));
}

/** Invalid texts of the grammar. */
function invalidTexts(
  schema: JsonSchema,
  matcher: Matcher,
  ajv: Ajv | Ajv2020,
  random: () => number,
): string[] {
  const isValid = ajv.compile(schema);
  const texts = WANDER_BYTES.map((bytes) => walk(matcher, random, bytes));
  return texts.filter((text) => !isValid(JSON.parse(text)));
}

describe('every text of a grammar is valid', () => {
  it(`for ${SCHEMAS} random schemas`, () => {
    let compiled = 0;
    for (let seed = 0; seed < SCHEMAS; seed++) {
      const random = randomNumbers(seed);
      const make = new RandomSchemas(random);
      const root = make.schema(3);
      const schema =
        typeof root === 'boolean' ? root : { ...root, $defs: { x: make.schema(1), y: make.schema(1) } };
      let matcher: Matcher;
      try {
        matcher = matcherOf(schema);
      } catch (error) {
        // No value is valid, or a keyword cannot be enforced: the result is a corresponding error.
        expect(hasErrorCode(error, 'INVALID_ARGUMENT'), String(error)).toBe(true);
        continue;
      }
      compiled++;
      expect(
        invalidTexts(schema, matcher, ajv2020, random),
        `seed ${seed}: ${JSON.stringify(schema)}`,
      ).toEqual([]);
    }
    expect(compiled).toBeGreaterThan(SCHEMAS * 0.7);
  });

  it.each(Object.entries(ZOD_SCHEMAS))('for zod: %s', (_, schema) => {
    for (const [target, ajv] of [
      ['draft-7', ajv7],
      ['draft-2020-12', ajv2020],
    ] as const) {
      const { $schema, ...json } = z.toJSONSchema(schema, { target });
      const matcher = matcherOf(json as JsonSchema);
      for (let seed = 0; seed < 5; seed++) {
        const random = randomNumbers(seed);
        expect(invalidTexts(json as JsonSchema, matcher, ajv, random), JSON.stringify(json)).toEqual([]);
      }
    }
  });
});
