/** Says what a supposed safetensors file really is, with advice; null if its first bytes are not recognised. */
export function foreignFormat(start: Uint8Array): string | null {
  const text = String.fromCharCode(...start.subarray(0, 64));
  const page = text.trimStart().toLowerCase();
  if (['<!doctype', '<html', '<?xml', '<head'].some((prefix) => page.startsWith(prefix))) {
    return 'it is a web page, not the weights: the download failed or needs a login; download it again';
  }
  return KNOWN_STARTS.find(([prefix]) => text.startsWith(prefix))?.[1] ?? null;
}

const PICTURE = 'it is a picture, not the weights: download it again';
const PICKLE = 'it is a Python pickle: convert it to safetensors';
const COMPRESSED = 'it is a compressed file: unpack it first';

const KNOWN_STARTS: readonly (readonly [string, string])[] = [
  [
    'version https://git-lfs',
    'it is a Git LFS pointer, the weights were not downloaded: run `git lfs pull`, or download the file itself',
  ],
  ['\x89PNG', PICTURE],
  ['\xff\xd8\xff', PICTURE],
  ['GIF8', PICTURE],
  ['GGUF', 'it is a GGUF file; only safetensors checkpoints are supported'],
  ['PK\x03\x04', 'it is a ZIP or PyTorch file: convert it to safetensors'],
  ['\x80\x02', PICKLE],
  ['\x80\x03', PICKLE],
  ['\x80\x04', PICKLE],
  ['\x93NUMPY', 'it is a NumPy file: convert it to safetensors'],
  ['\x1f\x8b', COMPRESSED],
  ['\x28\xb5\x2f\xfd', COMPRESSED],
];
