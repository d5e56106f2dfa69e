// What a page does with the part of the loader that needs no Node: reads a file from memory and shows what is in it.
import { imageTokens, openSafetensors } from '@markbase/loader';

const header = JSON.stringify({ weight: { dtype: 'F32', shape: [2], data_offsets: [0, 8] } });
const bytes = new Uint8Array(8 + header.length + 8);
new DataView(bytes.buffer).setBigUint64(0, BigInt(header.length), true);
bytes.set(new TextEncoder().encode(header), 8);
bytes.set(new Uint8Array(new Float32Array([1.5, -2]).buffer), 8 + header.length);

openSafetensors(new Blob([bytes]))
  .then((file) => file.tensors.get('weight').readFloat32())
  .then((values) => {
    document.title = `read ${values.join(' ')}, ${typeof imageTokens}`;
  })
  .catch((error) => {
    document.title = `failed: ${error}`;
  });
