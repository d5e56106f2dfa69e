/** Something that is loaded when it is first needed, once, and freed with its owner. */
export class Lazy<Resource extends { dispose(): void }> {
  readonly #load: () => Promise<Resource>;
  #loading: Promise<Resource> | null = null;
  #loaded: Resource | null = null;
  #isDisposed = false;

  constructor(load: () => Promise<Resource>) {
    this.#load = load;
  }

  /** Loads it, or returns what was loaded. A failure is not kept. */
  get(): Promise<Resource> {
    this.#loading ??= this.#load().then(
      (resource) => {
        if (this.#isDisposed) resource.dispose();
        else this.#loaded = resource;
        return resource;
      },
      (error) => {
        this.#loading = null;
        throw error;
      },
    );
    return this.#loading;
  }

  /** Frees it; what is still being loaded is freed when it arrives. */
  dispose(): void {
    this.#isDisposed = true;
    this.#loaded?.dispose();
    this.#loaded = null;
  }
}
