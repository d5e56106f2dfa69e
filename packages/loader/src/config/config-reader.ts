import { InvalidConfigError } from '@markbase/core';
import { MAX_CONFIG_SIZE } from '../limits.js';

/** Bounds of a number, and the value for an absent or null key. */
interface NumberOptions {
  readonly min?: number;
  readonly max?: number;
  /** Value of an absent or null key; without it the key is required. */
  readonly fallback?: number;
}

/** Typed access to one object of a JSON file; every complaint names the file and the full key. */
export class ConfigReader {
  private readonly fields: Readonly<Record<string, unknown>>;

  constructor(
    json: unknown,
    readonly path: string,
    private readonly prefix = '',
  ) {
    if (typeof json !== 'object' || json === null || Array.isArray(json)) {
      throw new InvalidConfigError({
        path,
        key: prefix === '' ? 'the file' : prefix.slice(0, -1),
        expected: 'an object',
        received: json,
      });
    }
    this.fields = json as Record<string, unknown>;
  }

  /** The raw value of a key; undefined when absent. Reaches own keys only, never the prototype. */
  raw(key: string): unknown {
    return Object.hasOwn(this.fields, key) ? this.fields[key] : undefined;
  }

  /** True if the key is present and not null. */
  has(key: string): boolean {
    const value = this.raw(key);
    return value !== undefined && value !== null;
  }

  /** The first of several spellings of a key that is present and not null, else the first spelling. */
  spelling(...keys: readonly [string, ...string[]]): string {
    return keys.find((key) => this.has(key)) ?? keys[0];
  }

  keys(): string[] {
    return Object.keys(this.fields);
  }

  /** A whole number; by default a size, from 1. */
  integer(key: string, { min = 1, max = MAX_CONFIG_SIZE, fallback }: NumberOptions = {}): number {
    if (!this.has(key) && fallback !== undefined) return fallback;
    const value = this.raw(key);
    if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
      return this.fail(key, `a whole number from ${min} to ${max}`);
    }
    return value;
  }

  /** A finite number. */
  number(key: string, { min = -Infinity, max = Infinity, fallback }: NumberOptions = {}): number {
    if (!this.has(key) && fallback !== undefined) return fallback;
    const value = this.raw(key);
    if (typeof value !== 'number' || !Number.isFinite(value) || value < min || value > max) {
      const range = min === -Infinity && max === Infinity ? '' : ` from ${min} to ${max}`;
      return this.fail(key, `a number${range}`);
    }
    return value;
  }

  boolean(key: string, fallback: boolean): boolean {
    if (!this.has(key)) return fallback;
    const value = this.raw(key);
    return typeof value === 'boolean' ? value : this.fail(key, 'true or false');
  }

  string(key: string, fallback: string): string {
    if (!this.has(key)) return fallback;
    const value = this.raw(key);
    return typeof value === 'string' ? value : this.fail(key, 'a string');
  }

  /** A nested object; null when the key is absent or null. */
  object(key: string): ConfigReader | null {
    return this.has(key) ? new ConfigReader(this.raw(key), this.path, `${this.prefix}${key}.`) : null;
  }

  /** A list of at most `maxLength` items; null when the key is absent or null. */
  list(key: string, maxLength: number): readonly unknown[] | null {
    if (!this.has(key)) return null;
    const value = this.raw(key);
    if (!Array.isArray(value) || value.length > maxLength) {
      return this.fail(key, `a list of at most ${maxLength} items`);
    }
    return value;
  }

  /** A token id; null when the key is absent or null. */
  tokenId(key: string): number | null {
    return this.has(key) ? this.integer(key, { min: 0 }) : null;
  }

  /** Token ids given as one number or as a list; null when the key is absent or null. */
  tokenIds(key: string): number[] | null {
    if (!this.has(key)) return null;
    const value = this.raw(key);
    const ids: readonly unknown[] = Array.isArray(value) ? value : [value];
    const isValid = ids.every((id) => typeof id === 'number' && Number.isInteger(id) && id >= 0);
    return isValid ? [...(ids as number[])] : this.fail(key, 'a token id or a list of token ids');
  }

  /** Throws an `InvalidConfigError` about `key`. */
  fail(key: string, expected: string): never {
    throw new InvalidConfigError({
      path: this.path,
      key: `${this.prefix}${key}`,
      expected,
      received: this.raw(key),
    });
  }
}
