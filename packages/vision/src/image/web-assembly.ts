/** A compiled module. */
export interface WebAssemblyModule {
  readonly compiled?: never;
}

/** Memory that grows in pages of 64 KiB. */
export interface WebAssemblyMemory {
  /** Replaced by another one when the memory grows. */
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

/** The part of WebAssembly that is used here: the types of Node 20 leave it out. */
export const webAssembly = (globalThis as unknown as { readonly WebAssembly: WebAssemblyApi }).WebAssembly;

interface WebAssemblyApi {
  readonly Module: {
    new (bytes: Uint8Array): WebAssemblyModule;
    imports(module: WebAssemblyModule): readonly { readonly name: string }[];
    exports(module: WebAssemblyModule): readonly { readonly name: string }[];
  };
  readonly Instance: new (module: WebAssemblyModule) => { readonly exports: unknown };
}
