import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Icon } from './icon.js';
import { closePanel, type PanelName } from './panels.js';

/** A column next to the chat; on a phone it covers the chat. */
export function Panel(props: {
  readonly id: PanelName;
  readonly title: string;
  readonly children: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <aside class="panel" id={`panel-${props.id}`} aria-label={props.title}>
      <header>
        <h2 ref={heading} tabIndex={-1}>
          {props.title}
        </h2>
        <button type="button" class="quiet round" aria-label={`Close ${props.title}`} onClick={closePanel}>
          <Icon name="close" />
        </button>
      </header>
      <div class="panel-body">{props.children}</div>
    </aside>
  );
}
