import { copyFile } from 'node:fs/promises';
import { defineConfig } from 'tsup';

/** What both models share: the tree holds it once, the package has it in both folders. */
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
