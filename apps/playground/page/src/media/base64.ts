const PIECE = 0x8000;

/** Encodes bytes as base64. */
export function toBase64(bytes: Uint8Array): string {
  let binary = '';
  // A single call for all bytes would exceed the engine's limit on arguments.
  for (let begin = 0; begin < bytes.length; begin += PIECE) {
    binary += String.fromCharCode(...bytes.subarray(begin, begin + PIECE));
  }
  return btoa(binary);
}

/** A file as a data: URL. */
export function toDataUrl(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
