import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Icon } from './icon.js';

/** A button that opens a list of less frequent actions. It closes after a choice, on Escape, and on a click elsewhere. */
export function Menu({ children }: { readonly children: ComponentChildren }) {
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const closeOutside = ({ target }: Event) => {
      if (!menu.current!.contains(target as Node)) menu.current!.open = false;
    };
    document.addEventListener('pointerdown', closeOutside);
    document.addEventListener('focusin', closeOutside);
    return () => {
      document.removeEventListener('pointerdown', closeOutside);
      document.removeEventListener('focusin', closeOutside);
    };
  }, []);
  const close = () => {
    menu.current!.open = false;
    menu.current!.querySelector('summary')!.focus();
  };
  return (
    <details
      class="menu"
      ref={menu}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !menu.current!.open) return;
        event.stopPropagation();
        close();
      }}
      onClick={({ target }) => {
        if ((target as Element).closest('.menu-body button')) close();
      }}
    >
      <summary class="quiet" aria-label="More" title="More">
        <Icon name="more" />
      </summary>
      <div class="menu-body">{children}</div>
    </details>
  );
}
