import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { newChat } from '../chat/actions.js';
import { isAnswering } from '../chat/answering.js';
import { exportConversation, importConversation } from '../conversation/files.js';
import { toggleTheme } from '../settings/theme.js';
import { Icon, type IconName } from './icon.js';
import { isListShown, isNarrow, toggleList } from './list-column.js';
import { Menu } from './menu.js';
import { ModelButton } from './model-button.js';
import { openPanel, type PanelName, togglePanel } from './panels.js';
import { showShortcuts } from './shortcuts.js';

/** The model, the panels, and actions for the conversation. */
export function Header() {
  return (
    <header class="bar">
      <h1 class="visually-hidden">MarkBase playground</h1>
      <button
        type="button"
        class="quiet"
        title="Conversations"
        aria-expanded={isListShown.value}
        onClick={toggleList}
      >
        <Icon name="list" />
        <span class="visually-hidden">Conversations</span>
      </button>
      <ModelButton />
      <span class="grow" />
      {(isNarrow.value || !isListShown.value) && (
        <button type="button" class="quiet" title="New chat" onClick={newChat}>
          <Icon name="plus" />
          <span class="label">New chat</span>
        </button>
      )}
      <PanelButton name="settings" icon="sliders">
        Settings
      </PanelButton>
      <PanelButton name="performance" icon="pulse">
        Performance
      </PanelButton>
      <More />
    </header>
  );
}

function PanelButton(props: {
  readonly name: PanelName;
  readonly icon: IconName;
  readonly children: string;
}) {
  const { name, icon, children } = props;
  return (
    <button
      type="button"
      class="quiet"
      title={children}
      aria-expanded={openPanel.value === name}
      aria-controls={openPanel.value === name ? `panel-${name}` : undefined}
      onClick={() => togglePanel(name)}
    >
      <Icon name={icon} />
      <span class="label">{children}</span>
    </button>
  );
}

/** Less frequent actions. */
function More() {
  const picker = useRef<HTMLInputElement>(null);
  const importFailure = useSignal<string | null>(null);
  const entry = (label: string, action: () => void, isDisabled = false) => (
    <button type="button" class="quiet" disabled={isDisabled} onClick={action}>
      {label}
    </button>
  );
  return (
    <>
      <Menu>
        {entry('Toggle dark mode', toggleTheme)}
        {entry('Export conversation', exportConversation)}
        {entry('Import conversation', () => picker.current!.click(), isAnswering.value)}
        {entry('Keyboard shortcuts', showShortcuts)}
      </Menu>
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
      {importFailure.value && (
        <p class="error import-failure" role="alert">
          {importFailure.value}
        </p>
      )}
    </>
  );
}
