/** Media that the loaded model accepts in addition to text. */
export interface MediaSupport {
  readonly image: {
    readonly patchSize: number;
    readonly poolingKernelSize: number;
    /** Default for the maximum number of soft tokens of a picture. */
    readonly defaultBudget: number;
  } | null;
  /** samplesPerToken null = the model has an audio tower. */
  readonly audio: { readonly samplesPerToken: number | null } | null;
}

/** The loaded model. */
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
  /** The checkpoint's sampling defaults; null = not specified. */
  readonly defaults: {
    readonly temperature: number | null;
    readonly topP: number | null;
    readonly topK: number | null;
  };
}

/** The state of the server. */
export interface PlaygroundState {
  readonly version: string;
  readonly machine: {
    readonly platform: string;
    readonly processor: string;
    readonly threads: number;
    readonly totalMemoryBytes: number;
  };
  /** Devices that this machine and this build support. */
  readonly devices: readonly string[];
  readonly model: LoadedModel | null;
}

/** A model that is already on this machine. */
export interface KnownModel {
  readonly name: string;
  /** demo: of the package; cache: downloaded from the hub; folder: in a configured folder. */
  readonly kind: 'demo' | 'cache' | 'folder';
  /** What `load` takes. */
  readonly model: string;
  /** Format of the weights, such as `4-bit`; empty if unknown. */
  readonly format: string;
  readonly sizeBytes: number;
  /** False after an interrupted download, which loading continues. */
  readonly isComplete: boolean;
}

/** A model to load, and how. */
export interface LoadRequest {
  /** A folder, or org/name on the hub. */
  readonly model: string;
  readonly device: string;
  readonly precision: 'fast' | 'high';
  /** null = the engine's default. */
  readonly contextTokens: number | null;
  readonly maxSequences: number;
}

/** Progress of loading. */
export interface LoadProgress {
  readonly stage: 'open' | 'download' | 'unload' | 'load' | 'warm-up';
  readonly doneBytes: number;
  readonly totalBytes: number;
  readonly file: string | null;
}

/** Memory needs of a model. */
export interface FitReport {
  readonly totalBytes: number;
  readonly weightBytes: number;
  readonly cacheBytes: number;
  readonly activationBytes: number;
  readonly memoryBytes: number;
  readonly fits: boolean;
  readonly maxContextTokens: number;
  /** The longest context that the model was trained for. */
  readonly maxPositions: number;
  /** Bytes read per token. */
  readonly bytesPerToken: number;
  /** A file without which the model cannot chat; null if it has all. */
  readonly missingFile: string | null;
  /** Bytes to download first; null if the model is on this machine. */
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

/** The server's activity at one moment. */
export interface PerformanceSample {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** Prompt tokens per second since the last sample. */
  readonly prefillTokensPerSecond: number;
  /** Generated tokens per second since the last sample. */
  readonly decodeTokensPerSecond: number;
  /** Sequences in use. */
  readonly running: number;
  /** Number of sequences. */
  readonly slots: number;
  /** Mean number of rows per decode step since the last sample; 0 if there was no step. */
  readonly meanBatch: number;
  /** Share of all cache positions that hold a token, 0 to 1. */
  readonly cacheUse: number;
  /** Resident memory of the process. */
  readonly residentBytes: number;
  readonly heapBytes: number;
}

/** Performance of steps compared with the limits of this machine. */
export interface RooflineReport {
  /** How fast the device reads its memory; null if it is not known. */
  readonly readBytesPerSecond: number | null;
  /** Measured on this machine, or published by the maker of the GPU. */
  readonly readRateSource: 'measured' | 'published';
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
