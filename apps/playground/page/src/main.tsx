import { render } from 'preact';
import { restoreConversation } from './conversation/current.js';
import { refreshState } from './model/model-state.js';
import './settings/theme.js';
import { App } from './shell/app.js';
import { installShortcuts } from './shell/shortcuts.js';
import './styles/base.css';
import './styles/layout.css';
import './styles/attachments.css';
import './styles/chat.css';
import './styles/composer.css';
import './styles/markdown.css';
import './styles/panels.css';
import './styles/welcome.css';

installShortcuts();
render(<App />, document.getElementById('app')!);
await Promise.all([restoreConversation(), refreshState()]);
