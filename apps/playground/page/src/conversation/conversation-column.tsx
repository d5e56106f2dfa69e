import { useEffect, useRef } from 'preact/hooks';
import { closeDrawer, isListShown, isNarrow } from '../shell/list-column.js';
import { NoticeView } from '../shell/notice-view.js';
import { ConversationList } from './conversation-list.js';
import { currentId } from './current.js';

/** The list of conversations: a column next to the chat, or a drawer over it. */
export function ConversationColumn() {
  if (!isListShown.value) return null;
  return isNarrow.value ? <Drawer /> : <ConversationList />;
}

function Drawer() {
  const dialog = useRef<HTMLDialogElement>(null);
  const openedWith = useRef(currentId.value);
  useEffect(() => dialog.current!.showModal(), []);
  useEffect(() => {
    if (currentId.value !== openedWith.current) closeDrawer();
  }, [currentId.value]);
  return (
    // The keyboard closes it with Escape.
    // biome-ignore lint/a11y/useKeyWithClickEvents: see above
    <dialog
      ref={dialog}
      class="drawer"
      aria-label="Conversations"
      onClose={closeDrawer}
      onClick={({ target }) => {
        // A click on the backdrop reaches the dialog itself.
        if (target === dialog.current) dialog.current!.close();
      }}
    >
      <ConversationList />
      <NoticeView />
    </dialog>
  );
}
