const C_LIKE = String.raw`\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)`;
const HASH = String.raw`#[^\n]*`;
const STRING = String.raw`"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?`;
const TEMPLATE = String.raw`\x60(?:\\.|[^\x60\\])*\x60?`;
const TRIPLE = String.raw`"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)`;
const NUMBER = String.raw`\b(?:0[xX][\da-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?)\w*`;
const WORD = String.raw`[A-Za-z_$][\w$]*`;

interface Language {
  readonly comment: string;
  readonly string: string;
  readonly keywords: ReadonlySet<string>;
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));

const SCRIPT: Language = {
  comment: C_LIKE,
  string: `${STRING}|${TEMPLATE}`,
  keywords: words(
    'abstract as async await break case catch class const continue default delete do else enum export extends false ' +
      'finally for from function if implements import in instanceof interface let new null of private public readonly ' +
      'return static super switch this throw true try type typeof undefined var void while yield',
  ),
};
const SYSTEM: Language = {
  comment: C_LIKE,
  string: STRING,
  keywords: words(
    'auto bool break case catch char class const constexpr continue default defer delete do double else enum extern ' +
      'false final float fn for func go if impl import in int interface let long loop match mod mut namespace new nil ' +
      'null nullptr package private protected pub public return self short signed sizeof static string struct super ' +
      'switch template this throw trait true try type typename unsigned use using var virtual void where while',
  ),
};
const PYTHON: Language = {
  comment: HASH,
  string: `${TRIPLE}|${STRING}`,
  keywords: words(
    'False None True and as assert async await break class continue def del elif else except finally for from global ' +
      'if import in is lambda nonlocal not or pass raise return try while with yield',
  ),
};
const SHELL: Language = {
  comment: HASH,
  string: STRING,
  keywords: words(
    'case do done elif else esac exit export fi for function if in local return then until while',
  ),
};
const SQL: Language = {
  comment: String.raw`--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)`,
  string: STRING,
  keywords: words(
    'and as asc by create delete desc drop from group having in index inner insert into is join left like limit not ' +
      'null on or order outer primary right select set table union update values where',
  ),
};
const DATA: Language = { comment: HASH, string: STRING, keywords: words('true false null yes no') };

const LANGUAGES: Readonly<Record<string, Language>> = {
  ...of(SCRIPT, 'js javascript jsx ts typescript tsx mjs'),
  ...of(SYSTEM, 'c cpp c++ h java kotlin swift rust rs go cs csharp metal cuda dart'),
  ...of(PYTHON, 'py python'),
  ...of(SHELL, 'sh bash shell zsh console'),
  ...of(SQL, 'sql'),
  ...of(DATA, 'json yaml yml toml ini'),
};

/** Code as escaped HTML, with comments, strings, numbers, keywords and called functions in spans. */
export function highlight(code: string, languageName: string): string {
  const name = languageName.toLowerCase();
  const language = Object.hasOwn(LANGUAGES, name) ? LANGUAGES[name] : undefined;
  if (!language) return escapeHtml(code);
  const { comment, string, keywords } = language;
  const token = new RegExp(`(${comment})|(${string})|(${NUMBER})|(${WORD})`, 'g');
  let html = '';
  let end = 0;
  for (const match of code.matchAll(token)) {
    const [text, isComment, isString, isNumber] = match;
    html += escapeHtml(code.slice(end, match.index));
    end = match.index + text.length;
    const word = () => {
      if (keywords.has(language === SQL ? text.toLowerCase() : text)) return 'keyword';
      return code[end] === '(' ? 'call' : null;
    };
    const kind = isComment ? 'comment' : isString ? 'string' : isNumber ? 'number' : word();
    html += kind === null ? escapeHtml(text) : `<span class="hl-${kind}">${escapeHtml(text)}</span>`;
  }
  return html + escapeHtml(code.slice(end));
}

/** Escapes text for HTML. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

function of(language: Language, names: string): Record<string, Language> {
  return Object.fromEntries(names.split(' ').map((name) => [name, language]));
}
