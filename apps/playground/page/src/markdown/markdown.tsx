import { useMemo } from 'preact/hooks';
import { copyText } from '../shell/clipboard.js';
import { renderMarkdown } from './render-markdown.js';

/** Shows markdown. Buttons in code blocks copy the code. */
export function Markdown({ text }: { readonly text: string }) {
  const html = useMemo(() => ({ __html: renderMarkdown(text) }), [text]);
  return (
    // The listener handles clicks on the buttons inside, which support the keyboard themselves.
    // biome-ignore lint/a11y/noStaticElementInteractions: delegation
    // biome-ignore lint/a11y/useKeyWithClickEvents: delegation
    <div class="markdown" onClick={onClick} dangerouslySetInnerHTML={html} />
  );
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
