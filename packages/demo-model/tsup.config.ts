import { copyFile } from 'node:fs/promises';
import { defineConfig } from 'tsup';

/** Files that both models share: stored once in the repository, copied to both folders of the package. */
const SHARED = ['tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja'];

export default defineConfig({
  entry: ['src/index.ts'],
  format: 'esm',
  dts: true,
  sourcemap: true,
  clean: true,
  target: 'node20',
  async onSuccess() {
    for (const name of SHARED) await copyFile(`model/${name}`, `model-moe/${name}`);
  },
});
