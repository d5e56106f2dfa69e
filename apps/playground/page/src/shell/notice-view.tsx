import { closeNotice, notice } from './notice.js';

/** What happened last, with a button to undo it. */
export function NoticeView() {
  const shown = notice.value;
  return (
    <div class="notice-place" role="status">
      {shown && (
        <p class="notice">
          <span>{shown.text}</span>
          <button
            type="button"
            onClick={() => {
              closeNotice();
              shown.act();
            }}
          >
            {shown.action}
          </button>
          <button type="button" class="quiet" aria-label="Close the notice" onClick={closeNotice}>
            ✕
          </button>
        </p>
      )}
    </div>
  );
}
