import { signal } from '@preact/signals';

/** The message that is being read; null if none. */
const readId = signal<string | null>(null);

/** Reads a text with a voice of the browser, or ends that; missing where there are no voices. */
export function ReadAloud({ id, text }: { readonly id: string; readonly text: () => string }) {
  if (!('speechSynthesis' in window)) return null;
  const isRead = readId.value === id;
  const toggle = () => {
    speechSynthesis.cancel();
    readId.value = null;
    if (isRead) return;
    const speech = new SpeechSynthesisUtterance(plain(text()));
    speech.onend = () => {
      if (readId.value === id) readId.value = null;
    };
    readId.value = id;
    speechSynthesis.speak(speech);
  };
  return (
    <button type="button" class="quiet" aria-pressed={isRead} onClick={toggle}>
      {isRead ? 'Stop reading' : 'Read aloud'}
    </button>
  );
}

/** Markdown without its marks. */
function plain(text: string): string {
  return text
    .replace(/```[\s\S]*?```/g, ' Code. ')
    .replace(/[*_`#>|]/g, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');
}
