import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { FolderListing } from '../../../src/playground-api/playground-types.js';
import { describeError } from '../api/describe-error.js';
import { getJson } from '../api/playground-api.js';

/** Browses the folders of the server's machine. Choosing a checkpoint passes its path to `onChoose`. */
export function FolderBrowser({ onChoose }: { readonly onChoose: (path: string) => void }) {
  const listing = useSignal<FolderListing | null>(null);
  const failure = useSignal<string | null>(null);
  const open = async (path: string) => {
    try {
      listing.value = await getJson<FolderListing>(`folders?path=${encodeURIComponent(path)}`);
      failure.value = null;
    } catch (error) {
      failure.value = describeError(error);
    }
  };
  useEffect(() => {
    void open('');
  }, []);
  const { value } = listing;
  return (
    <section class="folders" aria-label="Folders">
      {failure.value && (
        <p class="error" role="alert">
          {failure.value}
        </p>
      )}
      {value && (
        <>
          <p class="hint path">{value.path}</p>
          <ul>
            {value.parent !== null && (
              <li>
                <button type="button" class="quiet" onClick={() => void open(value.parent ?? '')}>
                  ↑ up
                </button>
              </li>
            )}
            {value.folders.map(({ name, path, isCheckpoint }) => (
              <li key={path}>
                <button
                  type="button"
                  class="quiet"
                  onClick={() => (isCheckpoint ? onChoose(path) : void open(path))}
                >
                  {isCheckpoint ? `◆ ${name} (checkpoint)` : `▸ ${name}`}
                </button>
              </li>
            ))}
          </ul>
          {value.folders.length === 0 && <p class="hint">No folders here.</p>}
        </>
      )}
    </section>
  );
}
