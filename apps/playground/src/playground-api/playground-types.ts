/** What the loaded model takes beside text. */
export interface MediaSupport {
  readonly image: {
    readonly patchSize: number;
    readonly poolingKernelSize: number;
    /** Soft tokens of a picture at most, unless a person chooses. */
    readonly defaultBudget: number;
  } | null;
  /** samplesPerToken null = the model has an audio tower. */
  readonly audio: { readonly samplesPerToken: number | null } | null;
}

/** The model that answers. */
export interface LoadedModel {
  /** Its name in the APIs. */
  readonly id: string;
  readonly folder: string;
  readonly device: {
    readonly kind: string;
    readonly name: string;
    readonly isa: string;
    readonly threads: number;
  };
  readonly precision: 'fast' | 'high';
  readonly contextTokens: number;
  readonly maxSequences: number;
  readonly media: MediaSupport;
  readonly weightBytes: number;
  readonly cacheBytes: number;
  /** What the checkpoint says about sampling; null = nothing. */
  readonly defaults: {
    readonly temperature: number | null;
    readonly topP: number | null;
    readonly topK: number | null;
  };
}

/** What the server says about itself. */
export interface PlaygroundState {
  readonly version: string;
  readonly machine: {
    readonly platform: string;
    readonly processor: string;
    readonly threads: number;
    readonly totalMemoryBytes: number;
  };
  /** Devices that this machine and this build have. */
  readonly devices: readonly string[];
  readonly model: LoadedModel | null;
  /** Models that are here already. */
  readonly suggestions: readonly { readonly name: string; readonly model: string }[];
}

/** Which model to load, and how. */
export interface LoadRequest {
  /** A folder, or org/name on the hub. */
  readonly model: string;
  readonly device: string;
  readonly precision: 'fast' | 'high';
  /** null = the default of the engine. */
  readonly contextTokens: number | null;
  readonly maxSequences: number;
}

/** How far loading is. */
export interface LoadProgress {
  readonly stage: 'open' | 'download' | 'unload' | 'load' | 'warm-up';
  readonly doneBytes: number;
  readonly totalBytes: number;
  readonly file: string | null;
}

/** What a model would take. */
export interface FitReport {
  readonly totalBytes: number;
  readonly weightBytes: number;
  readonly cacheBytes: number;
  readonly activationBytes: number;
  readonly memoryBytes: number;
  readonly fits: boolean;
  readonly maxContextTokens: number;
  /** The longest context that the model was made for. */
  readonly maxPositions: number;
  /** Bytes that one token reads. */
  readonly bytesPerToken: number;
  /** Bytes to download first; null = the model is here. */
  readonly downloadBytes: number | null;
}

/** Folders inside a folder. */
export interface FolderListing {
  readonly path: string;
  readonly parent: string | null;
  readonly folders: readonly {
    readonly name: string;
    readonly path: string;
    readonly isCheckpoint: boolean;
  }[];
}

/** What the server was doing at one moment. */
export interface PerformanceSample {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** Prompt tokens a second since the last sample. */
  readonly prefillTokensPerSecond: number;
  /** Generated tokens a second since the last sample. */
  readonly decodeTokensPerSecond: number;
  /** Sequences that are being answered. */
  readonly running: number;
  /** Sequences that there are. */
  readonly slots: number;
  /** Mean rows of a decode step since the last sample; 0 = no step. */
  readonly meanBatch: number;
  /** Share of all cache positions that hold a token, 0 to 1. */
  readonly cacheUse: number;
  /** Memory of the process that is in use. */
  readonly residentBytes: number;
  readonly heapBytes: number;
}

/** What a step reaches, and what this machine allows. */
export interface RooflineReport {
  readonly readBytesPerSecond: number;
  readonly points: readonly RooflinePoint[];
}

/** One measured kind of step. */
export interface RooflinePoint {
  readonly name: string;
  readonly tokensPerSecond: number;
  /** Operations per byte of weights, keys and values that the step reads. */
  readonly operationsPerByte: number;
  readonly operationsPerSecond: number;
}
