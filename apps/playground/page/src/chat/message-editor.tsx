import { useEffect, useRef } from 'preact/hooks';

/** A field for the text of a message. Enter saves, Escape cancels. */
export function MessageEditor(props: {
  readonly label: string;
  readonly text: string;
  /** Name of the button that saves. */
  readonly save: string;
  onSave(text: string): void;
  onCancel(): void;
}) {
  const { label, text, save, onSave, onCancel } = props;
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.focus(), []);
  return (
    <form
      class="editor"
      onSubmit={(event) => {
        event.preventDefault();
        onSave(area.current!.value);
      }}
    >
      <textarea
        ref={area}
        rows={Math.min(12, Math.max(3, text.split('\n').length))}
        aria-label={label}
        defaultValue={text}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
            event.preventDefault();
            onSave(area.current!.value);
          } else if (event.key === 'Escape') {
            event.stopPropagation();
            onCancel();
          }
        }}
      />
      <div class="buttons">
        <button type="submit" class="primary">
          {save}
        </button>
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}
