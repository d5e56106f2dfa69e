import { signal } from '@preact/signals';

/** A library that is loaded when it is first needed. */
class LazyLibrary<Library> {
  readonly #loaded = signal<Library | null>(null);
  readonly #load: () => Promise<Library>;
  #isLoading = false;

  constructor(load: () => Promise<Library>) {
    this.#load = load;
  }

  /** null until it has been loaded. */
  get value(): Library | null {
    return this.#loaded.value;
  }

  /** The same as `value`, but starts to load it. */
  request(): Library | null {
    if (!this.#isLoading) {
      this.#isLoading = true;
      this.#load().then(
        (library) => {
          this.#loaded.value = library;
        },
        () => {
          // The server has gone: the next request tries again.
          this.#isLoading = false;
        },
      );
    }
    return this.value;
  }
}

/** Colours code. Without it, code is shown in one colour. */
export const highlighter = new LazyLibrary(async () => (await import('highlight.js/lib/common')).default);

/** Sets formulas. Without it, they are shown as LaTeX. */
export const typesetter = new LazyLibrary(async () => {
  const [module] = await Promise.all([import('katex'), import('katex/dist/katex.min.css')]);
  return module.default;
});
