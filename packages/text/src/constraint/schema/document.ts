import { checkKeywords } from './check-keywords.js';
import type { JsonSchema, Keywords } from './json-schema.js';
import { type OnUnsupported, refuseMalformed } from './refusals.js';

/** A schema and its place in a document. */
export interface SchemaNode {
  readonly id: number;
  readonly schema: JsonSchema;
  readonly path: string;
  /** The base of relative references, with and without the schema's own `$id`. */
  readonly base: string;
  readonly outerBase: string;
}

/** Base of documents that have no `$id`. */
const NO_BASE = 'schema://document/';
/** Keywords with values that are not schemas and contain none. */
const NO_SCHEMAS = new Set(['enum', 'const', 'default', 'examples', 'example', 'required']);
const EMPTY: Keywords = {};

/** A schema and everything that its references lead to. */
export class SchemaDocument {
  readonly root: SchemaNode;
  readonly #onUnsupported: OnUnsupported;
  readonly #nodes = new Map<object, SchemaNode>();
  readonly #checked = new Set<SchemaNode>();
  /** Schemas that are known not to contain themselves. */
  readonly #ending = new Set<SchemaNode>();
  /** Resources by address, and places in them by `address#anchor`. */
  readonly #places = new Map<string, SchemaNode>();
  readonly #dynamicAnchors = new Map<string, number>();
  readonly #targets = new Map<SchemaNode, SchemaNode | null>();

  constructor(schema: JsonSchema, onUnsupported: OnUnsupported) {
    this.#onUnsupported = onUnsupported;
    this.root = this.#node(schema, '#', NO_BASE);
    this.#places.set(NO_BASE, this.root);
    this.#index();
  }

  /** The schema at a keyword of another. */
  child(parent: SchemaNode, ...steps: readonly (string | number)[]): SchemaNode {
    let value: unknown = parent.schema;
    let path = parent.path;
    for (const step of steps) {
      value = (value as Record<string, unknown>)[step];
      path += `/${escaped(String(step))}`;
    }
    return this.#node(value as JsonSchema, path, parent.base);
  }

  /** A schema that has no location in the document, composed of parts of one that has. */
  made(schema: JsonSchema, like: SchemaNode): SchemaNode {
    return this.#node(schema, like.path, like.base);
  }

  /** The keywords of a schema, checked; none for a boolean. @throws InvalidArgumentError for malformed ones */
  keywordsOf(node: SchemaNode): Keywords {
    if (!this.#checked.has(node)) {
      this.#checked.add(node);
      checkKeywords(node.schema, node.path, this.#onUnsupported);
      this.#checkEnds(node);
    }
    return typeof node.schema === 'boolean' ? EMPTY : node.schema;
  }

  /** The target of a schema's `$ref` or `$dynamicRef`. Null if it has none, or an unsupported one that was left out. */
  targetOf(node: SchemaNode): SchemaNode | null {
    const known = this.#targets.get(node);
    if (known !== undefined) return known;
    const target = this.#resolve(node);
    this.#targets.set(node, target);
    return target;
  }

  #resolve(node: SchemaNode): SchemaNode | null {
    const { $ref, $dynamicRef } = node.schema as Keywords;
    if (typeof $ref === 'string') {
      const target = this.#find($ref, node.base);
      const outer = this.#find($ref, node.outerBase);
      // Up to draft 7, a `$id` next to a `$ref` has no effect.
      if (target && outer && target !== outer) {
        this.#onUnsupported({
          path: node.path,
          keyword: '$ref',
          expected: 'no $id beside it that changes its target',
        });
      }
      return target ?? this.#refuse(node, '$ref');
    }
    if (typeof $dynamicRef !== 'string') return null;
    const target = this.#find($dynamicRef, node.base) ?? this.#refuse(node, '$dynamicRef');
    const anchor = (target.schema as Keywords).$dynamicAnchor;
    if (
      typeof anchor !== 'string' ||
      !$dynamicRef.endsWith(`#${anchor}`) ||
      this.#dynamicAnchors.get(anchor) === 1
    )
      return target;
    this.#onUnsupported({
      path: node.path,
      keyword: '$dynamicRef',
      expected: 'a $dynamicAnchor that occurs once',
    });
    return null;
  }

  #refuse({ path, schema }: SchemaNode, keyword: string): never {
    return refuseMalformed(
      `${path}/${keyword}`,
      'a place in the same schema, such as #/$defs/name',
      (schema as Keywords)[keyword],
    );
  }

  #find(reference: string, from: string): SchemaNode | null {
    const url = urlOf(reference, from);
    if (url === null) return null;
    const hash = url.indexOf('#');
    const address = hash < 0 ? url : url.slice(0, hash);
    const fragment = hash < 0 ? '' : url.slice(hash + 1);
    if (fragment !== '' && !fragment.startsWith('/'))
      return this.#places.get(`${address}#${decodeURIComponent(fragment)}`) ?? null;
    const resource = this.#places.get(address);
    return resource ? this.#follow(resource, fragment) : null;
  }

  #follow(resource: SchemaNode, pointer: string): SchemaNode | null {
    let value: unknown = resource.schema;
    let { path, base } = resource;
    for (const part of pointer.split('/').slice(1)) {
      const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null;
      value = (value as Record<string, unknown>)[name];
      path += `/${escaped(name)}`;
      base = baseOf(value, base);
    }
    if (value === undefined) return null;
    return this.#node(value as JsonSchema, path, base);
  }

  #node(schema: JsonSchema, path: string, parentBase: string): SchemaNode {
    if (typeof schema !== 'object' || schema === null) {
      return {
        id: schema === true ? -1 : schema === false ? -2 : -3,
        schema,
        path,
        base: parentBase,
        outerBase: parentBase,
      };
    }
    const known = this.#nodes.get(schema);
    if (known) return known;
    const node = {
      id: this.#nodes.size,
      schema,
      path,
      base: baseOf(schema, parentBase),
      outerBase: parentBase,
    };
    this.#nodes.set(schema, node);
    return node;
  }

  /** Collects everything that references may name. */
  #index(): void {
    const open: { value: unknown; path: string; base: string }[] = [
      { value: this.root.schema, path: '#', base: NO_BASE },
    ];
    const seen = new Set<unknown>();
    for (let next = open.pop(); next; next = open.pop()) {
      const { value, path } = next;
      if (typeof value !== 'object' || value === null || seen.has(value)) continue;
      seen.add(value);
      const base = baseOf(value, next.base);
      const { $id, $anchor, $dynamicAnchor } = value as Keywords;
      const isResource = base !== next.base && !Array.isArray(value);
      if (isResource) this.#places.set(base, this.#node(value as JsonSchema, path, next.base));
      for (const anchor of [
        $anchor,
        $dynamicAnchor,
        typeof $id === 'string' && $id.startsWith('#') ? $id.slice(1) : null,
      ]) {
        if (typeof anchor === 'string')
          this.#places.set(`${base}#${anchor}`, this.#node(value as JsonSchema, path, next.base));
      }
      if (typeof $dynamicAnchor === 'string') {
        this.#dynamicAnchors.set($dynamicAnchor, (this.#dynamicAnchors.get($dynamicAnchor) ?? 0) + 1);
      }
      for (const [name, child] of Object.entries(value)) {
        if (!NO_SCHEMAS.has(name)) open.push({ value: child, path: `${path}/${escaped(name)}`, base });
      }
    }
  }

  /** A schema must not refer to itself without a value in between. */
  #checkEnds(node: SchemaNode): void {
    const active = new Set<SchemaNode>();
    const open: { node: SchemaNode; isDone: boolean }[] = [{ node, isDone: false }];
    const done = this.#ending;
    for (let next = open.pop(); next; next = open.pop()) {
      if (next.isDone) {
        active.delete(next.node);
        done.add(next.node);
        continue;
      }
      if (active.has(next.node))
        refuseMalformed(next.node.path, 'references that lead to a schema', 'a circle');
      if (done.has(next.node)) continue;
      active.add(next.node);
      open.push({ node: next.node, isDone: true });
      for (const part of this.#partsInPlace(next.node)) open.push({ node: part, isDone: false });
    }
  }

  #partsInPlace(node: SchemaNode): SchemaNode[] {
    const { schema } = node;
    if (typeof schema !== 'object' || schema === null) return [];
    const parts: SchemaNode[] = [];
    const target = this.targetOf(node);
    if (target) parts.push(target);
    for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
      const list = schema[keyword];
      if (Array.isArray(list)) parts.push(...list.map((_, index) => this.child(node, keyword, index)));
    }
    for (const keyword of ['not', 'if', 'then', 'else']) {
      if (schema[keyword] !== undefined) parts.push(this.child(node, keyword));
    }
    for (const keyword of ['dependentSchemas', 'dependencies']) {
      for (const [name, value] of Object.entries((schema[keyword] ?? {}) as object)) {
        if (!Array.isArray(value)) parts.push(this.child(node, keyword, name));
      }
    }
    return parts;
  }
}

function escaped(step: string): string {
  return step.replaceAll('~', '~0').replaceAll('/', '~1');
}

function urlOf(reference: string, base: string): string | null {
  return URL.canParse(reference, base) ? new URL(reference, base).href : null;
}

function baseOf(value: unknown, parentBase: string): string {
  const id = (value as Keywords | null)?.$id;
  if (typeof id !== 'string' || id.startsWith('#')) return parentBase;
  const url = urlOf(id, parentBase);
  return url === null ? parentBase : url.replace(/#.*$/, '');
}
