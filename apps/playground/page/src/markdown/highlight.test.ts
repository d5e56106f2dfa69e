import { expect, it } from 'vitest';
import { highlight } from './highlight.js';

const text = (html: string) =>
  html
    .replace(/<\/?span[^>]*>/g, '')
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));

it.each([
  ['ts', 'const a = `x \\n`; // <b>\nreturn f(0x1f)'],
  ['python', 'def f(x):\n  """doc"""\n  return "a\\"b" # end'],
  ['sql', "SELECT * FROM t WHERE a = 'b' -- c"],
  ['bash', 'for f in *; do echo "$f"; done # <script>'],
  ['cpp', '/* never closed <i>'],
  ['unknown', '<img src=x onerror=alert(1)>'],
  ['constructor', 'toString'],
])('changes nothing but the look of %s', (language, code) => {
  const html = highlight(code, language);
  expect(text(html)).toBe(code);
  expect(html.replace(/<\/?span(?: class="hl-[a-z]+")?>/g, '')).not.toMatch(/[<>]/);
});

it('distinguishes kinds of tokens', () => {
  const html = highlight('if (f(1)) return "if" // if', 'js');
  expect(html.match(/hl-\w+/g)).toEqual([
    'hl-keyword',
    'hl-call',
    'hl-number',
    'hl-keyword',
    'hl-string',
    'hl-comment',
  ]);
});
