import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { newChat } from '../chat/actions.js';
import { answeredChats } from '../chat/running-answers.js';
import { Icon } from '../shell/icon.js';
import { closeDrawer, isNarrow } from '../shell/list-column.js';
import { currentId } from './current.js';
import type { ChatRecord } from './database.js';
import { exportChat, exportLibrary } from './files.js';
import { library, listTitle, renameChat } from './library.js';
import { addressOf, deleteWithUndo } from './navigation.js';
import { findChats } from './store.js';

/** All conversations, with a search and what can be done with each. */
export function ConversationList() {
  const query = useSignal('');
  const found = useSignal<ReadonlySet<string> | null>(null);
  const chosen = useSignal<ChatRecord | null>(null);
  const renamed = useSignal<string | null>(null);
  const menu = useRef<HTMLDivElement>(null);
  const search = async (text: string) => {
    query.value = text;
    const ids = text.trim() === '' ? null : await findChats(text.trim()).catch(() => new Set<string>());
    // A later search may have been faster.
    if (query.value === text) found.value = ids;
  };
  const isShown = (entry: ChatRecord) =>
    query.value.trim() === '' ||
    found.value?.has(entry.id) ||
    listTitle(entry).toLowerCase().includes(query.value.trim().toLowerCase());
  const shown = library.value.filter(isShown);
  const openMenu = (entry: ChatRecord, button: HTMLElement) => {
    chosen.value = entry;
    place(menu.current!, button);
  };
  const choice = (label: string, act: (entry: ChatRecord) => void) => (
    <button
      type="button"
      class="quiet"
      onClick={() => {
        menu.current!.hidePopover();
        if (chosen.value) act(chosen.value);
      }}
    >
      {label}
    </button>
  );
  return (
    <nav class="conversations" aria-label="Conversations">
      <div class="conversations-head">
        {isNarrow.value ? (
          <button type="button" class="quiet" onClick={closeDrawer}>
            Close
          </button>
        ) : (
          <button type="button" class="new-chat" onClick={newChat}>
            <Icon name="plus" />
            New chat
          </button>
        )}
        <input
          type="search"
          aria-label="Search conversations"
          placeholder="Search"
          value={query.value}
          onInput={({ currentTarget }) => void search(currentTarget.value)}
        />
      </div>
      <ul>
        {shown.map((entry) => (
          <li key={entry.id} class={entry.id === currentId.value ? 'current' : ''}>
            {renamed.value === entry.id ? (
              <TitleEditor entry={entry} onEnd={() => (renamed.value = null)} />
            ) : (
              <>
                <a
                  href={addressOf(entry.id)}
                  aria-current={entry.id === currentId.value ? 'page' : undefined}
                  title={listTitle(entry)}
                >
                  {listTitle(entry)}
                  {answeredChats.value.has(entry.id) && <span class="answering">, answering</span>}
                </a>
                <button
                  type="button"
                  class="quiet"
                  aria-haspopup="true"
                  aria-label={`Actions for ${listTitle(entry)}`}
                  onClick={({ currentTarget }) => openMenu(entry, currentTarget)}
                >
                  ⋯
                </button>
              </>
            )}
          </li>
        ))}
      </ul>
      {shown.length === 0 && (
        <p class="hint">{query.value === '' ? 'Conversations appear here.' : 'Nothing was found.'}</p>
      )}
      {library.value.length > 0 && (
        <div class="conversations-foot">
          <button type="button" class="quiet" onClick={() => void exportLibrary()}>
            Export all
          </button>
        </div>
      )}
      <div ref={menu} popover="auto" class="conversation-menu">
        {choice('Rename', ({ id }) => {
          renamed.value = id;
        })}
        {choice('Export as Markdown', ({ id }) => void exportChat(id, 'markdown'))}
        {choice('Export as JSON', ({ id }) => void exportChat(id, 'json'))}
        {choice('Delete', (entry) => void deleteWithUndo(entry.id, listTitle(entry)))}
      </div>
    </nav>
  );
}

function TitleEditor({ entry, onEnd }: { readonly entry: ChatRecord; readonly onEnd: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current!.select(), []);
  const isOver = useRef(false);
  const end = (title: string | null) => {
    // Removing a field that has the focus also takes the focus from it.
    if (isOver.current) return;
    isOver.current = true;
    if (title !== null && title !== listTitle(entry)) void renameChat(entry.id, title);
    onEnd();
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        end(field.current!.value);
      }}
    >
      <input
        ref={field}
        type="text"
        aria-label="Title"
        defaultValue={listTitle(entry)}
        onBlur={({ currentTarget }) => end(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Escape') return;
          event.stopPropagation();
          event.preventDefault();
          end(null);
        }}
      />
    </form>
  );
}

/** Opens a popover below a button, or above it where there is no room. */
function place(menu: HTMLElement, button: HTMLElement): void {
  menu.showPopover();
  const { bottom, top, left } = button.getBoundingClientRect();
  const { width, height } = menu.getBoundingClientRect();
  const isRoom = bottom + height < innerHeight;
  menu.style.top = `${isRoom ? bottom : Math.max(0, top - height)}px`;
  menu.style.left = `${Math.max(0, Math.min(left, innerWidth - width - 8))}px`;
  menu.querySelector('button')?.focus();
}
