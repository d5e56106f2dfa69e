import { UnsupportedTokenizerError } from './unsupported-tokenizer-error.js';

/** Rewrites a text before it is split: the `normalizer` of tokenizer.json. */
export type Normalizer = (text: string) => string;

/** Splits a text into pieces that are encoded separately: the `pre_tokenizer` of tokenizer.json. */
export type PreTokenizer = (text: string) => readonly string[];

/** Rewrites the text of one token when it is decoded: the `Replace` parts of the `decoder` of tokenizer.json. */
export type TokenTextRewriter = (text: string) => string;

/** Builds the normalizer: null, `Replace` of a literal, or a `Sequence` of these. */
export function buildNormalizer(description: unknown, path: string): Normalizer {
  const steps = flatten(description, 'normalizers', path).map((step) =>
    replacement(step, 'normalizer', path),
  );
  return (text) => steps.reduce((result, step) => step(result), text);
}

/** True if a normalizer can make a text shorter. */
export function canShorten(description: unknown, path: string): boolean {
  return flatten(description, 'normalizers', path).some(({ pattern, content }) => {
    return (literalOf(pattern)?.length ?? 0) > (typeof content === 'string' ? content.length : 0);
  });
}

/** Builds the pre-tokenizer: null, `Split` at a literal, `Digits`, or a `Sequence` of these. */
export function buildPreTokenizer(description: unknown, path: string): PreTokenizer {
  const steps = flatten(description, 'pretokenizers', path).map((step) => splitter(step, path));
  return (text) => steps.reduce<readonly string[]>((pieces, step) => pieces.flatMap(step), [text]);
}

/** Builds the decoder: a `Sequence` of `Replace` of a literal, `ByteFallback` and `Fuse`. */
export function buildTokenTextRewriter(description: unknown, path: string): TokenTextRewriter {
  const steps: TokenTextRewriter[] = [];
  const names: string[] = [];
  for (const step of flatten(description, 'decoders', path)) {
    names.push(step.type);
    // Byte tokens are always joined as UTF-8 and token texts always concatenated, which is what these two request.
    if (step.type === 'ByteFallback' || step.type === 'Fuse') continue;
    steps.push(replacement(step, 'decoder', path));
  }
  if (!names.includes('ByteFallback') && !names.includes('Fuse')) {
    throw unsupported(path, 'decoder', 'a sequence with ByteFallback and Fuse', description);
  }
  return (text) => steps.reduce((result, step) => step(result), text);
}

interface Step {
  readonly type: string;
  readonly [key: string]: unknown;
}

/** More steps than any real file has; keeps a hostile file from building endless pipelines. */
const MAX_STEPS = 64;

/** The steps of a possibly nested `Sequence`, without recursion that depends on the file. */
function flatten(description: unknown, listKey: string, path: string): Step[] {
  const steps: Step[] = [];
  const pending: unknown[] = [description];
  while (pending.length > 0) {
    const next = pending.pop();
    if (next === null || next === undefined) continue;
    const step = next as Step;
    const inner = step[listKey] as unknown[] | undefined;
    if (step.type !== 'Sequence' || !Array.isArray(inner)) steps.push(step);
    else if (inner.length <= MAX_STEPS) pending.push(...inner.toReversed());
    if (pending.length > MAX_STEPS || steps.length > MAX_STEPS || Number(inner?.length) > MAX_STEPS) {
      throw unsupported(path, listKey, `at most ${MAX_STEPS} steps`, steps.length + pending.length);
    }
  }
  return steps;
}

function replacement(step: Step, component: string, path: string): (text: string) => string {
  const pattern = literalOf(step.pattern);
  const { content } = step;
  if (step.type !== 'Replace' || pattern === null || typeof content !== 'string') {
    throw unsupported(path, component, 'Replace of a literal string', step);
  }
  // `$` is special in replacement strings. A function would be called for each match in a long text.
  const replaced = content.replaceAll('$', '$$$$');
  return (text) => text.replaceAll(pattern, replaced);
}

function splitter(step: Step, path: string): (text: string) => string[] {
  if (step.type === 'Digits') {
    return step.individual_digits === true
      ? (text) => text.match(/\p{N}|\P{N}+/gu) ?? []
      : (text) => text.match(/\p{N}+|\P{N}+/gu) ?? [];
  }
  const pattern = literalOf(step.pattern);
  if (step.type !== 'Split' || pattern === null || step.invert === true) {
    throw unsupported(path, 'pre_tokenizer', 'Split at a literal string, or Digits', step);
  }
  switch (step.behavior) {
    case 'MergedWithPrevious':
      return (text) => cut(text, pattern, (index) => index + pattern.length);
    case 'MergedWithNext':
      return (text) => cut(text, pattern, (index) => index);
    case 'Isolated':
      return (text) => split(text, pattern, true);
    case 'Removed':
      return (text) => split(text, pattern, false);
    default:
      throw unsupported(
        path,
        'pre_tokenizer',
        'MergedWithPrevious, MergedWithNext, Isolated or Removed',
        step,
      );
  }
}

function cut(text: string, pattern: string, cutAt: (index: number) => number): string[] {
  const pieces: string[] = [];
  let begin = 0;
  for (
    let index = text.indexOf(pattern);
    index !== -1;
    index = text.indexOf(pattern, index + pattern.length)
  ) {
    const end = cutAt(index);
    if (end > begin) pieces.push(text.slice(begin, end));
    begin = end;
  }
  if (begin < text.length) pieces.push(text.slice(begin));
  return pieces;
}

function split(text: string, pattern: string, keepsPattern: boolean): string[] {
  const parts = text
    .split(pattern)
    .flatMap((part, index) => (index > 0 && keepsPattern ? [pattern, part] : [part]));
  return parts.filter((part) => part !== '');
}

function literalOf(pattern: unknown): string | null {
  if (typeof pattern !== 'object' || pattern === null || !('String' in pattern)) return null;
  return typeof pattern.String === 'string' && pattern.String !== '' ? pattern.String : null;
}

function unsupported(path: string, component: string, expected: string, received: unknown): Error {
  return new UnsupportedTokenizerError({ path, component, expected, received });
}
