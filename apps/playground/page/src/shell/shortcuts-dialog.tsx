import { useEffect, useRef } from 'preact/hooks';
import { areShortcutsShown, SHORTCUTS } from './shortcuts.js';

/** The list of keyboard shortcuts. */
export function ShortcutsDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const isShown = areShortcutsShown.value;
  useEffect(() => {
    if (isShown) dialog.current!.showModal();
  }, [isShown]);
  return (
    <dialog
      ref={dialog}
      aria-label="Keyboard shortcuts"
      onClose={() => {
        areShortcutsShown.value = false;
      }}
    >
      <h2>Keyboard shortcuts</h2>
      <dl class="facts">
        {SHORTCUTS.map(([keys, action]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{action}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit" class="primary">
          Close
        </button>
      </form>
    </dialog>
  );
}
