type NumberArray = Int32Array | Float32Array | Uint8Array;

const PROTOTYPE = Object.getPrototypeOf(Int32Array.prototype) as object;
const CONSTRUCTORS: Readonly<
  Record<string, new (buffer: ArrayBufferLike, offset: number, length: number) => NumberArray>
> = {
  Int32Array,
  Float32Array,
  Uint8Array,
};

function getter(name: PropertyKey): (array: NumberArray) => unknown {
  const { get } = Object.getOwnPropertyDescriptor(PROTOTYPE, name)!;
  return (array) => get!.call(array);
}

const kindOf = getter(Symbol.toStringTag);
const bufferOf = getter('buffer');
const offsetOf = getter('byteOffset');
const lengthOf = getter('length');

/**
 * The same memory as an array without a subclass, whose properties are reliable. The addon copies the actual number of elements, so checks
 * must not rely on a property that a subclass may have overridden.
 */
export function plainArray<Kind extends NumberArray>(array: Kind): Kind {
  const plain = CONSTRUCTORS[kindOf(array) as string]!;
  const length = lengthOf(array) as number;
  // Detached memory has no length, and cannot be viewed.
  if (length === 0) return new plain(new ArrayBuffer(0), 0, 0) as Kind;
  return new plain(bufferOf(array) as ArrayBufferLike, offsetOf(array) as number, length) as Kind;
}
