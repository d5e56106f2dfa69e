import { useSignal } from '@preact/signals';
import { copyText } from '../shell/clipboard.js';

/** Copies text and shows that it did. */
export function CopyButton({ text }: { readonly text: () => string }) {
  const label = useSignal('Copy');
  const copy = async () => {
    label.value = (await copyText(text())) ? 'Copied' : 'Not allowed';
    setTimeout(() => {
      label.value = 'Copy';
    }, 1500);
  };
  return (
    <button type="button" class="quiet" onClick={() => void copy()}>
      {label.value}
    </button>
  );
}
