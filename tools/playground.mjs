// `pnpm playground [options of markbase playground]`: installs if needed, builds, and opens the page with the demo model, or with the model
// that `--model` names.
import { buildAll } from './lib/build.mjs';
import { ensureInstalled } from './lib/install.mjs';
import { run } from './lib/process.mjs';

// "pnpm playground -- --model x" passes the dashes on.
const given = process.argv.slice(2).filter((word, index) => index > 0 || word !== '--');

const built = ensureInstalled() || buildAll();
if (built !== 0) {
  console.error('playground: the installation or the build failed; the lines above say why');
  process.exit(built);
}
// Ctrl-C reaches both processes; this one only waits for the other.
process.on('SIGINT', () => {});
process.exitCode = run('node', ['apps/playground/dist/cli.js', 'playground', ...given]);
