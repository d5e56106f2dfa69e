/** Element types as safetensors spells them. */
export type DType =
  | 'BOOL'
  | 'U8'
  | 'I8'
  | 'U16'
  | 'I16'
  | 'U32'
  | 'I32'
  | 'U64'
  | 'I64'
  | 'F16'
  | 'BF16'
  | 'F32'
  | 'F64'
  | 'C64'
  | 'F8_E4M3'
  | 'F8_E5M2'
  | 'F8_E8M0'
  | 'F8_E4M3FNUZ'
  | 'F8_E5M2FNUZ'
  | 'F6_E2M3'
  | 'F6_E3M2'
  | 'F4';

const BITS: Readonly<Record<DType, number>> = {
  BOOL: 8,
  U8: 8,
  I8: 8,
  U16: 16,
  I16: 16,
  U32: 32,
  I32: 32,
  U64: 64,
  I64: 64,
  F16: 16,
  BF16: 16,
  F32: 32,
  F64: 64,
  C64: 64,
  F8_E4M3: 8,
  F8_E5M2: 8,
  F8_E8M0: 8,
  F8_E4M3FNUZ: 8,
  F8_E5M2FNUZ: 8,
  F6_E2M3: 6,
  F6_E3M2: 6,
  F4: 4,
};

/** Bits of one element; types below 8 bits are stored packed. */
export function dtypeBits(dtype: DType): number {
  return BITS[dtype];
}

/** True when `name` is one of the element types of the format, in its exact spelling. */
export function isDType(name: string): name is DType {
  return Object.hasOwn(BITS, name);
}
