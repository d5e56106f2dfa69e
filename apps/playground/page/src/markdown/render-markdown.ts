import DOMPurify from 'dompurify';
import { Marked } from 'marked';
import { escapeHtml, highlight } from './highlight.js';

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    code({ text, lang = '' }) {
      const language = lang.split(/\s/)[0] ?? '';
      const title = escapeHtml(language || 'text');
      return (
        `<div class="code"><div class="code-bar"><span>${title}</span>` +
        '<button type="button" class="code-copy">Copy</button></div>' +
        `<pre tabindex="0"><code>${highlight(text, language)}</code></pre></div>`
      );
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
  ALLOWED_ATTR: ['href', 'class', 'type', 'checked', 'disabled', 'start', 'align', 'tabindex'],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|#)/i,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};

/** Markdown as HTML that is safe to insert into the page. */
export function renderMarkdown(text: string): string {
  return purify.sanitize(marked.parse(text, { async: false }), CLEAN);
}
