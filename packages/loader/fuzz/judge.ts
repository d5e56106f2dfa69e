import { hasErrorCode } from '@markbase/core';
import { readSafetensors, type SafetensorsFile } from '../src/safetensors/read-safetensors.js';
import { MemorySource } from '../src/sources/memory-source.js';
import { referenceTensors } from './reference-acceptance.js';

/** The result for a file: accepted and refused are fine, anything else is a finding. */
export type Verdict = 'accepted' | 'refused' | 'stricter' | { readonly finding: string };

/** Maximum time for one small file. */
const MAX_MS = 2000;

/**
 * Opens a file, reads every tensor, and compares with the reference reader.
 *
 * Findings: any error that is not a `CorruptFileError`, an accepted file that the reference refuses, a different reading of the same file,
 * and a file that takes too long. `stricter` counts refused files that the reference accepts.
 */
export async function judge(bytes: Uint8Array): Promise<Verdict> {
  const reference = referenceTensors(bytes);
  const start = performance.now();
  let file: SafetensorsFile;
  try {
    file = await readSafetensors(new MemorySource(bytes));
  } catch (error) {
    if (!hasErrorCode(error, 'CORRUPT_FILE')) return { finding: `another error: ${String(error)}` };
    return reference === null ? 'refused' : 'stricter';
  }
  if (performance.now() - start > MAX_MS) return { finding: 'it takes too long' };
  if (reference === null) return { finding: 'accepted, but the reference reader refuses it' };
  const difference = differenceOf(file, reference);
  if (difference !== null) return { finding: difference };
  for (const tensor of file.tensors.values()) {
    const read = await tensor.read();
    const { offsetBytes, sizeBytes } = tensor.range;
    if (Buffer.compare(read, bytes.subarray(offsetBytes, offsetBytes + sizeBytes)) !== 0) {
      return { finding: `tensor ${JSON.stringify(tensor.name)} reads different bytes` };
    }
  }
  return 'accepted';
}

function differenceOf(
  file: SafetensorsFile,
  reference: NonNullable<ReturnType<typeof referenceTensors>>,
): string | null {
  if (file.tensors.size !== reference.size) return `${file.tensors.size} tensors, expected ${reference.size}`;
  for (const [name, expected] of reference) {
    const tensor = file.tensors.get(name);
    const isEqual =
      tensor !== undefined &&
      tensor.name === name &&
      tensor.dtype === expected.dtype &&
      tensor.shape.join() === expected.shape.join() &&
      BigInt(tensor.range.sizeBytes) === expected.end - expected.begin;
    if (!isEqual) return `tensor ${JSON.stringify(name)} is read differently`;
  }
  return null;
}
