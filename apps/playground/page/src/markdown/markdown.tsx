import { useLayoutEffect, useRef } from 'preact/hooks';
import { copyText } from '../shell/clipboard.js';
import { highlighter, typesetter } from './libraries.js';
import { patch } from './patch.js';
import { markdownBlocks } from './render-markdown.js';
import { typeset } from './typeset.js';

/** Shows markdown; of a text that grows, only what changed is drawn again. Buttons in code blocks copy the code. */
export function Markdown({ text }: { readonly text: string }) {
  const place = useRef<HTMLDivElement>(null);
  const shown = useRef<string[]>([]);
  useLayoutEffect(() => {
    shown.current = show(place.current!, text, shown.current);
  }, [text, highlighter.value, typesetter.value]);
  return (
    // The listener handles clicks on the buttons inside, which support the keyboard themselves.
    // biome-ignore lint/a11y/noStaticElementInteractions: delegation
    // biome-ignore lint/a11y/useKeyWithClickEvents: delegation
    <div ref={place} class="markdown" onClick={onClick} />
  );
}

/** Draws the blocks whose keys are not those of `shown`. @returns the keys of all blocks */
function show(place: HTMLElement, text: string, shown: readonly string[]): string[] {
  const blocks = markdownBlocks(text);
  for (const [index, { key, html }] of blocks.entries()) {
    if (key === shown[index]) continue;
    const template = document.createElement('template');
    template.innerHTML = html();
    const known = place.children[index] ?? place.appendChild(document.createElement('div'));
    patch(known, template.content);
  }
  while (place.children.length > blocks.length) place.lastElementChild!.remove();
  typeset(place);
  return blocks.map(({ key }) => key);
}

function onClick(event: MouseEvent): void {
  const button = (event.target as Element).closest('.code-copy');
  if (!button) return;
  const code = button.closest('.code')?.querySelector('code')?.textContent ?? '';
  void copyText(code).then((isCopied) => {
    button.textContent = isCopied ? 'Copied' : 'Not copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 1500);
  });
}
