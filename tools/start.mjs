// `pnpm start [--moe] ["a prompt"]`: installs if needed, builds, and answers the prompt with the packaged demo model, or with the second
// one, a mixture of experts.
import { buildAll } from './lib/build.mjs';
import { ensureInstalled } from './lib/install.mjs';

/** Default prompt. */
const DEFAULT_PROMPT = 'Tell me a story about a fox.';

// "pnpm start -- text" passes the dashes on.
const given = process.argv.slice(2).filter((word, index) => index > 0 || word !== '--');
const variant = given.includes('--moe') ? 'moe' : 'dense';
const words = given.filter((word) => word !== '--moe');
const prompt = words.length > 0 ? words.join(' ') : DEFAULT_PROMPT;

step('the installation', ensureInstalled());
step('the build', buildAll());
const { demonstrate } = await import('./lib/demonstrate.mjs');
await demonstrate(prompt, variant);

/** @param {string} title @param {number} status */
function step(title, status) {
  if (status === 0) return;
  console.error(`start: ${title} failed with exit status ${status}; the lines above say why`);
  process.exit(status);
}
