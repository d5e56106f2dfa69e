import DOMPurify from 'dompurify';
import { Marked, type Token } from 'marked';
import { escapeHtml } from './escape-html.js';
import { highlighter } from './libraries.js';
import { MATH } from './math.js';

/** Longer code is shown in one colour: colouring it again with every token would take too long. */
const LONGEST_COLOURED = 30_000;

const marked = new Marked({
  gfm: true,
  breaks: true,
  extensions: MATH,
  renderer: {
    code({ text, lang = '' }) {
      const language = lang.split(/\s/)[0] ?? '';
      const title = escapeHtml(language || 'text');
      return (
        `<div class="code"><div class="code-bar"><span>${title}</span>` +
        '<button type="button" class="code-copy">Copy</button></div>' +
        `<pre tabindex="0"><code>${coloured(text, language)}</code></pre></div>`
      );
    },
    checkbox({ checked }) {
      const state = checked ? 'checked aria-label="done"' : 'aria-label="to do"';
      return `<input type="checkbox" disabled ${state}> `;
    },
    // Nothing is loaded from elsewhere: a picture becomes a link.
    image({ href, text }) {
      return `<a href="${escapeHtml(href)}">${escapeHtml(text || href)}</a>`;
    },
    // HTML written by a model is shown, not interpreted.
    html({ text }) {
      return escapeHtml(text);
    },
  },
});

const purify = DOMPurify(window);
purify.addHook('afterSanitizeAttributes', (node) => {
  if (node.tagName !== 'A') return;
  node.setAttribute('target', '_blank');
  node.setAttribute('rel', 'noopener noreferrer');
});

const CLEAN = {
  ALLOWED_TAGS: (
    'a b blockquote br button code del div em h1 h2 h3 h4 h5 h6 hr i input li ol p pre s span strong sub sup table ' +
    'tbody td th thead tr ul'
  ).split(' '),
  ALLOWED_ATTR: ['href', 'class', 'type', 'checked', 'disabled', 'start', 'align', 'tabindex', 'aria-label'],
  // All other values have to be addresses.
  ADD_URI_SAFE_ATTR: ['type', 'start', 'align', 'tabindex', 'aria-label'],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|#)/i,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};

/** A paragraph, list, table or other block of markdown. */
export interface MarkdownBlock {
  /** Equal for blocks that look equal. */
  readonly key: string;
  /** HTML that is safe to insert into the page. */
  html(): string;
}

/** Splits markdown into blocks. */
export function markdownBlocks(text: string): MarkdownBlock[] {
  const tokens = marked.lexer(text);
  // A definition at the end of a text changes links before it, and the highlighter changes code.
  const context = `${JSON.stringify(tokens.links)} ${highlighter.value !== null}`;
  return tokens
    .filter(({ type }) => type !== 'space' && type !== 'def')
    .map((token) => ({ key: `${token.raw} ${context}`, html: () => blockHtml(token) }));
}

function blockHtml(token: Token): string {
  const html = marked.parser([token]);
  const framed = token.type === 'table' ? `<div class="wide" tabindex="0">${html}</div>` : html;
  return purify.sanitize(framed, CLEAN);
}

/** Code as escaped HTML; in colours once the highlighter has been loaded. */
function coloured(code: string, language: string): string {
  if (language === '' || code.length > LONGEST_COLOURED) return escapeHtml(code);
  const library = highlighter.request();
  if (!library?.getLanguage(language)) return escapeHtml(code);
  return library.highlight(code, { language, ignoreIllegals: true }).value;
}
