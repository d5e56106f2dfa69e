import { useSignal } from '@preact/signals';
import { Composer } from '../chat/composer.js';
import { Transcript } from '../chat/transcript.js';
import { attachFiles } from '../media/attachments.js';
import { ModelPanel } from '../model/model-panel.js';
import { modelError } from '../model/model-state.js';
import { PerformancePanel } from '../performance/performance-panel.js';
import { SettingsPanel } from '../settings/settings-panel.js';
import { Header } from './header.js';
import { openPanel } from './panels.js';
import { ShortcutsDialog } from './shortcuts-dialog.js';

/** The whole page. Files may be dropped anywhere on it. */
export function App() {
  const isDropping = useSignal(false);
  const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false;
  return (
    // Dropping is only an additional way to attach files; the button works with the keyboard.
    // biome-ignore lint/a11y/noStaticElementInteractions: see above
    <div
      class={`page ${isDropping.value ? 'dropping' : ''}`}
      onDragOver={(event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        isDropping.value = true;
      }}
      onDragLeave={({ relatedTarget }) => {
        if (relatedTarget === null) isDropping.value = false;
      }}
      onDrop={(event) => {
        isDropping.value = false;
        if (!hasFiles(event)) return;
        event.preventDefault();
        void attachFiles([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <Header />
      <div class="chat">
        {modelError.value && openPanel.value !== 'model' && (
          <p class="error" role="alert">
            {modelError.value}
          </p>
        )}
        <Transcript />
        <Composer />
      </div>
      {openPanel.value === 'model' && <ModelPanel />}
      {openPanel.value === 'settings' && <SettingsPanel />}
      {openPanel.value === 'performance' && <PerformancePanel />}
      <ShortcutsDialog />
    </div>
  );
}
