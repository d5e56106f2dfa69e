import { Composer } from '../chat/composer.js';
import { Transcript } from '../chat/transcript.js';
import { ConversationColumn } from '../conversation/conversation-column.js';
import { keepError } from '../conversation/current.js';
import { isDropping } from '../media/drop.js';
import { ModelPanel } from '../model/model-panel.js';
import { modelError } from '../model/model-state.js';
import { isConnected } from '../model/server-watch.js';
import { PerformancePanel } from '../performance/performance-panel.js';
import { SettingsPanel } from '../settings/settings-panel.js';
import { Header } from './header.js';
import { isListShown, isNarrow } from './list-column.js';
import { NoticeView } from './notice-view.js';
import { openPanel } from './panels.js';
import { ShortcutsDialog } from './shortcuts-dialog.js';

/** The whole page. */
export function App() {
  return (
    <div class={`shell ${isListShown.value && !isNarrow.value ? 'with-column' : ''}`}>
      <ConversationColumn />
      <Page />
      {/* A drawer has its own, because it is in front of everything else. */}
      {!(isNarrow.value && isListShown.value) && <NoticeView />}
    </div>
  );
}

/** Everything but the list. */
function Page() {
  return (
    <div class={`page ${isDropping.value ? 'dropping' : ''}`}>
      <Header />
      <div class="chat">
        <div class="banners">
          {!isConnected.value && (
            <p class="error" role="alert">
              The server is gone. Start `markbase playground` again; this page connects by itself.
            </p>
          )}
          {isConnected.value && modelError.value && openPanel.value !== 'model' && (
            <p class="error" role="alert">
              {modelError.value}
            </p>
          )}
          {keepError.value && (
            <p class="error" role="alert">
              {keepError.value}
            </p>
          )}
        </div>
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
