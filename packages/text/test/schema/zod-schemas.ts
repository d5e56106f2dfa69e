import { z } from 'zod';

const node: z.ZodType = z.lazy(() => z.object({ value: z.number(), next: node.nullable() }));

/** Typical zod schemas. */
export const ZOD_SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  person: z.object({
    name: z.string().min(1).max(20),
    age: z.int().min(0).max(150),
    email: z.email().optional(),
  }),
  record: z.record(z.string(), z.number()),
  'record of keys': z.record(z.enum(['a', 'b']), z.boolean()),
  'partial record': z.partialRecord(z.enum(['a', 'b']), z.string()),
  tuple: z.tuple([z.string(), z.number()]),
  'tuple with rest': z.tuple([z.literal('x')], z.boolean()),
  'length and pattern': z
    .string()
    .min(3)
    .max(8)
    .regex(/^[a-z]+\d*$/),
  'starts and ends': z.string().startsWith('ab').endsWith('yz').includes('-'),
  multiple: z.number().multipleOf(5).positive().max(1000),
  int32: z.int32(),
  uint32: z.uint32(),
  float: z.number().gt(0).lt(1),
  formats: z.object({
    date: z.iso.date(),
    datetime: z.iso.datetime({ offset: true }),
    uuid: z.uuid(),
    url: z.url(),
    ipv4: z.ipv4(),
    ipv6: z.ipv6(),
  }),
  'discriminated union': z.discriminatedUnion('type', [
    z.object({ type: z.literal('circle'), radius: z.number().positive() }),
    z.object({ type: z.literal('square'), side: z.number().positive() }),
  ]),
  union: z.union([z.string(), z.number(), z.array(z.null())]),
  intersection: z.intersection(z.object({ a: z.string() }), z.object({ b: z.number() })),
  'strict object': z.strictObject({ a: z.string(), b: z.number().optional() }),
  'loose object': z.looseObject({ a: z.string() }),
  'catch all': z.object({ a: z.string() }).catchall(z.number()),
  'array limits': z
    .array(z.enum(['x', 'y', 'z']))
    .min(1)
    .max(3),
  'nullable enum': z.enum(['a', 'b']).nullable(),
  literals: z.literal(['a', 1, null, true]),
  recursive: node,
  any: z.object({ any: z.any(), unknown: z.unknown() }),
};
