import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { newChat } from '../chat/actions.js';
import { isAnswering } from '../chat/answering.js';
import { exportConversation, importConversation } from '../conversation/files.js';
import { loadedModel } from '../model/model-state.js';
import { toggleTheme } from '../settings/theme.js';
import { openPanel, type PanelName, togglePanel } from './panels.js';
import { showShortcuts } from './shortcuts.js';

/** The model's name, the panel buttons, and actions for the conversation. */
export function Header() {
  return (
    <header class="bar">
      <PanelButton name="model">{loadedModel.value?.id ?? 'No model'}</PanelButton>
      <span class="grow" />
      <button type="button" onClick={newChat}>
        New chat
      </button>
      <PanelButton name="settings">Settings</PanelButton>
      <PanelButton name="performance">Performance</PanelButton>
      <More />
    </header>
  );
}

function PanelButton({ name, children }: { readonly name: PanelName; readonly children: string }) {
  return (
    <button
      type="button"
      class={`panel-button ${name}`}
      aria-expanded={openPanel.value === name}
      aria-controls={openPanel.value === name ? `panel-${name}` : undefined}
      onClick={() => togglePanel(name)}
    >
      {name === 'model' && <span class="visually-hidden">Model: </span>}
      {children}
    </button>
  );
}

/** Less frequent actions. */
function More() {
  const menu = useRef<HTMLDetailsElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const importFailure = useSignal<string | null>(null);
  const entry = (label: string, action: () => void, isDisabled = false) => (
    <button
      type="button"
      class="quiet"
      disabled={isDisabled}
      onClick={() => {
        menu.current!.open = false;
        action();
      }}
    >
      {label}
    </button>
  );
  return (
    <>
      <details
        class="menu"
        ref={menu}
        onKeyDown={({ key }) => {
          if (key === 'Escape') menu.current!.open = false;
        }}
      >
        <summary aria-label="More">⋯</summary>
        <div class="menu-body">
          {entry('Toggle dark mode', toggleTheme)}
          {entry('Export conversation', exportConversation)}
          {entry('Import conversation', () => picker.current!.click(), isAnswering.value)}
          {entry('Keyboard shortcuts', showShortcuts)}
        </div>
        <input
          ref={picker}
          type="file"
          hidden
          id="import-picker"
          accept="application/json,.json"
          onChange={async ({ currentTarget }) => {
            const [file] = currentTarget.files ?? [];
            importFailure.value = file ? await importConversation(file) : null;
            currentTarget.value = '';
          }}
        />
      </details>
      {importFailure.value && (
        <p class="error import-failure" role="alert">
          {importFailure.value}
        </p>
      )}
    </>
  );
}
