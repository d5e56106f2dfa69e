import type { TokenizerAndRendererExtension, Tokens } from 'marked';
import { escapeHtml } from './escape-html.js';

const BLOCK = /^ {0,3}(?:\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\])[ \t]*(?:\n|$)/;
const DISPLAY = /^(?:\$\$([^$]+?)\$\$|\\\[([\s\S]+?)\\\])/;
/** A dollar opens a formula if text follows it, and closes one if text precedes it: `$5 and $6` are prices. */
const INLINE = /^(?:\\\(([\s\S]+?)\\\)|\$(?![\s$])((?:\\[^\n]|[^\\$\n`])*?(?:\\[^\n]|[^\s\\$`]))\$(?![\d$]))/;

/** Formulas in `$…$`, `\(…\)`, `$$…$$` and `\[…\]`, as elements of class `math` that hold their LaTeX. */
export const MATH: TokenizerAndRendererExtension[] = [
  {
    name: 'blockMath',
    level: 'block',
    start: (text) => positionOf(text, /(?<=\n) {0,3}(?:\$\$|\\\[)/),
    tokenizer: (text) => token('blockMath', BLOCK.exec(text)),
    renderer: ({ tex }) => `<div class="math display">${escapeHtml(tex)}</div>`,
  },
  {
    name: 'displayMath',
    level: 'inline',
    start: (text) => positionOf(text, /\$\$|\\\[/),
    tokenizer: (text) => token('displayMath', DISPLAY.exec(text)),
    renderer: ({ tex }) => `<span class="math display">${escapeHtml(tex)}</span>`,
  },
  {
    name: 'inlineMath',
    level: 'inline',
    start: (text) => positionOf(text, /\$|\\\(/),
    tokenizer: (text) => token('inlineMath', INLINE.exec(text)),
    renderer: ({ tex }) => `<span class="math">${escapeHtml(tex)}</span>`,
  },
];

function token(type: string, match: RegExpExecArray | null): Tokens.Generic | undefined {
  return match ? { type, raw: match[0], tex: (match[1] ?? match[2] ?? '').trim() } : undefined;
}

function positionOf(text: string, pattern: RegExp): number | undefined {
  const position = text.search(pattern);
  return position < 0 ? undefined : position;
}
