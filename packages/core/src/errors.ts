import { MarkBaseError } from './error.js';

/** A caller's argument is not one that the function accepts. */
export class InvalidArgumentError extends MarkBaseError {
  readonly code = 'INVALID_ARGUMENT';
  /** Name of the argument, option or field. */
  readonly argument: string;
  /** What would have been accepted. */
  readonly expected: string;
  /** What was passed, shortened to 120 characters. */
  readonly received: string;
  readonly #fields: ConstructorParameters<typeof InvalidArgumentError>[0];

  constructor(fields: {
    argument: string;
    expected: string;
    received: unknown;
    hint?: string;
    cause?: unknown;
  }) {
    const received = describe(fields.received);
    const hint = fields.hint ? `. ${fields.hint}` : '';
    super(
      `${fields.argument}: expected ${fields.expected}, received ${received}${hint}`,
      causeOf(fields.cause),
    );
    this.argument = fields.argument;
    this.expected = fields.expected;
    this.received = received;
    this.#fields = fields;
  }

  /** What the error was made of, to make it again, for example in another thread. */
  get fields(): ConstructorParameters<typeof InvalidArgumentError>[0] {
    return this.#fields;
  }

  /** The same error about an argument of another name, for code that passes its own arguments on. */
  renamed(argument: string): InvalidArgumentError {
    return new InvalidArgumentError({ ...this.#fields, argument });
  }
}

/** The sizes of two operands of an operation do not match. */
export class ShapeMismatchError extends MarkBaseError {
  readonly code = 'SHAPE_MISMATCH';
  /** Name of the operation, such as `linear`. */
  readonly operation: string;
  /** Name of the operand that does not fit. */
  readonly argument: string;
  /** The expected sizes, such as `[*, 4]`. */
  readonly expected: string;
  /** The sizes that were passed. */
  readonly received: string;

  constructor(fields: { operation: string; argument: string; expected: string; received: string }) {
    super(`${fields.operation}: ${fields.argument} is ${fields.received}, expected ${fields.expected}`);
    this.operation = fields.operation;
    this.argument = fields.argument;
    this.expected = fields.expected;
    this.received = fields.received;
  }
}

/** A file is not what its format promises: truncated, contradictory, or something else entirely. */
export class CorruptFileError extends MarkBaseError {
  readonly code = 'CORRUPT_FILE';
  /** Stable name of the violated rule, such as `InvalidHeaderLength`. */
  readonly rule: string;
  /** Path of the file, or a description of the bytes. */
  readonly path: string;
  /** What is wrong with it. */
  readonly reason: string;
  /** Position of the fault in the file; null if it has none. */
  readonly offsetBytes: number | null;

  constructor(fields: { rule: string; path: string; reason: string; offsetBytes?: number; cause?: unknown }) {
    const at = fields.offsetBytes === undefined ? '' : ` (at byte ${fields.offsetBytes})`;
    super(`${fields.path}: ${fields.reason}${at} [${fields.rule}]`, causeOf(fields.cause));
    this.rule = fields.rule;
    this.path = fields.path;
    this.reason = fields.reason;
    this.offsetBytes = fields.offsetBytes ?? null;
  }
}

/** A file or folder that is needed does not exist or cannot be opened. */
export class FileAccessError extends MarkBaseError {
  readonly code = 'FILE_ACCESS';
  /** The file or folder. */
  readonly path: string;
  /** What was attempted, such as `read`. */
  readonly operation: string;
  /** Why it failed, in the words of the system. */
  readonly reason: string;

  constructor(fields: { path: string; operation: string; reason: string; cause?: unknown }) {
    super(`cannot ${fields.operation} ${fields.path}: ${fields.reason}`, causeOf(fields.cause));
    this.path = fields.path;
    this.operation = fields.operation;
    this.reason = fields.reason;
  }
}

/** A sound, an image or a video is in a format or codec that this engine does not read, or is not media at all. */
export class UnsupportedMediaError extends MarkBaseError {
  readonly code = 'UNSUPPORTED_MEDIA';
  /** What the source was expected to be. */
  readonly media: 'audio' | 'image' | 'video';
  /** Path of the file, or a description of a source without one. */
  readonly source: string;
  /** Why it cannot be read. */
  readonly reason: string;

  constructor(fields: {
    media: 'audio' | 'image' | 'video';
    source: string;
    reason: string;
    cause?: unknown;
  }) {
    super(`${fields.source}: unsupported ${fields.media}: ${fields.reason}`, causeOf(fields.cause));
    this.media = fields.media;
    this.source = fields.source;
    this.reason = fields.reason;
  }
}

/** config.json names a model, or a combination of options, that this engine does not run. */
export class UnsupportedModelError extends MarkBaseError {
  readonly code = 'UNSUPPORTED_MODEL';
  /** `model_type` of config.json. */
  readonly modelType: string;
  /** What this engine does not run. */
  readonly reason: string;

  constructor(fields: { modelType: string; reason: string }) {
    super(`unsupported model "${fields.modelType}": ${fields.reason}`);
    this.modelType = fields.modelType;
    this.reason = fields.reason;
  }
}

/** config.json, or another JSON file of a checkpoint, has a wrong or contradictory value. */
export class InvalidConfigError extends MarkBaseError {
  readonly code = 'INVALID_CONFIG';
  /** Path of the JSON file. */
  readonly path: string;
  /** The key with the wrong value; nested keys are joined by dots. */
  readonly key: string;
  /** What would have been accepted. */
  readonly expected: string;
  /** The value in the file, shortened to 120 characters. */
  readonly received: string;

  constructor(fields: { path: string; key: string; expected: string; received: unknown; cause?: unknown }) {
    const received = describe(fields.received);
    super(
      `${fields.path}: ${fields.key} must be ${fields.expected}, but is ${received}`,
      causeOf(fields.cause),
    );
    this.path = fields.path;
    this.key = fields.key;
    this.expected = fields.expected;
    this.received = received;
  }
}

/** The tensors of a checkpoint are not those that its configuration calls for. */
export class WeightMapError extends MarkBaseError {
  readonly code = 'WEIGHT_MAP';
  /** Tensors that the configuration calls for and the files do not have. */
  readonly missing: readonly string[];
  /** Tensors that nothing has requested. */
  readonly unused: readonly string[];
  /** Tensors of another shape or element type, each with what was expected. */
  readonly mismatched: readonly string[];

  /** `similar`: unused names that may be misspellings of missing ones, as `found for missing`. */
  constructor(fields: {
    missing?: readonly string[];
    unused?: readonly string[];
    mismatched?: readonly string[];
    similar?: readonly string[];
  }) {
    const parts = [
      list('missing', fields.missing),
      list('similar names', fields.similar),
      list('wrong', fields.mismatched),
      list('unused', fields.unused),
    ].filter((part) => part !== '');
    super(`the checkpoint does not match its config.json: ${parts.join('; ')}`);
    this.missing = fields.missing ?? [];
    this.unused = fields.unused ?? [];
    this.mismatched = fields.mismatched ?? [];
  }
}

/** The native addon could not be loaded; `attempts` says what was tried and why each try failed. */
export class NativeAddonLoadError extends MarkBaseError {
  readonly code = 'NATIVE_ADDON_LOAD';
  /** Platform and processor, such as `linux-x64`. */
  readonly platform: string;
  /** What was tried, and why each try failed. */
  readonly attempts: readonly string[];

  constructor(fields: { platform: string; attempts: readonly string[]; hint: string }) {
    super(
      `no native addon for ${fields.platform}. Tried:\n${fields.attempts.map((a) => `  - ${a}`).join('\n')}\n${fields.hint}`,
    );
    this.platform = fields.platform;
    this.attempts = fields.attempts;
  }
}

/** The requested kind of device does not exist here, or this build has no backend for it. */
export class DeviceUnavailableError extends MarkBaseError {
  readonly code = 'DEVICE_UNAVAILABLE';
  /** The requested kind of device, such as `metal`. */
  readonly device: string;
  /** Why it is not available. */
  readonly reason: string;

  constructor(fields: { device: string; reason: string }) {
    super(`device "${fields.device}" is not available: ${fields.reason}`);
    this.device = fields.device;
    this.reason = fields.reason;
  }
}

/** A device failed while it ran a program. */
export class DeviceError extends MarkBaseError {
  readonly code = 'DEVICE';
  /** The kernel, or the call of the driver, that failed. */
  readonly kernel: string;
  /** Why it failed, in the words of the driver. */
  readonly reason: string;

  constructor(fields: { kernel: string; reason: string }) {
    super(`device error in ${fields.kernel}: ${fields.reason}`);
    this.kernel = fields.kernel;
    this.reason = fields.reason;
  }
}

/**
 * A NaN or an infinity: `checkFinite` found it, and `label` names the layer and the operation; or no logit is left to
 * choose a token by, and `label` names the program and the row.
 */
export class NonFiniteError extends MarkBaseError {
  readonly code = 'NON_FINITE';
  /** Where the value appeared. */
  readonly label: string;

  constructor(fields: { label: string }) {
    super(`NaN or infinity in the output of ${fields.label}: the weights or the inputs are not finite`);
    this.label = fields.label;
  }
}

/** Memory for a buffer could not be allocated; `requestedBytes` is 0 when the size is unknown. */
export class OutOfMemoryError extends MarkBaseError {
  readonly code = 'OUT_OF_MEMORY';
  /** Bytes that were requested; 0 if unknown. */
  readonly requestedBytes: number;
  /** What the memory was for. */
  readonly label: string;

  /** `reason`: how much memory is available, if known. */
  constructor(fields: { requestedBytes: number; label: string; reason?: string }) {
    // The system does not always say how much it was asked for.
    const need = fields.requestedBytes > 0 ? ` needs ${fields.requestedBytes} bytes` : '';
    super(`out of memory: ${fields.label}${need}${fields.reason ? `; ${fields.reason}` : ''}`);
    this.requestedBytes = fields.requestedBytes;
    this.label = fields.label;
  }
}

/** An object was used after `dispose()`. */
export class DisposedError extends MarkBaseError {
  readonly code = 'DISPOSED';
  /** What was disposed. */
  readonly resource: string;
  /** What was attempted afterwards. */
  readonly operation: string;

  constructor(fields: { resource: string; operation: string }) {
    super(`${fields.operation}: the ${fields.resource} was disposed`);
    this.resource = fields.resource;
    this.operation = fields.operation;
  }
}

/** A prompt, or a prompt and its answer, does not fit into the context; nothing is ever cut silently. */
export class ContextLengthError extends MarkBaseError {
  readonly code = 'CONTEXT_LENGTH';
  /** Tokens of the prompt, or of the medium that does not fit. */
  readonly promptTokens: number;
  /** Tokens that fit. */
  readonly maxTokens: number;
  readonly #fields: ConstructorParameters<typeof ContextLengthError>[0];

  /**
   * `isLeast`: the prompt was not encoded, because it has at least this many tokens. `subject`: a medium that does not fit.
   * `room`: what `maxTokens`, the tokens that are left for it, mean for it. `change`: how to get a larger context.
   */
  constructor(fields: {
    promptTokens: number;
    maxTokens: number;
    isLeast?: boolean;
    subject?: string;
    room?: string;
    change?: string;
  }) {
    const { subject = 'the prompt', change = 'load the model with a larger contextTokens' } = fields;
    const { promptTokens, maxTokens, room } = fields;
    const limit =
      room === undefined ? `the context holds ${maxTokens}` : `there is room for ${maxTokens} (${room})`;
    const least = fields.isLeast ? 'at least ' : '';
    super(`${subject} has ${least}${promptTokens} tokens, but ${limit}: shorten it, or ${change}`);
    this.promptTokens = fields.promptTokens;
    this.maxTokens = fields.maxTokens;
    this.#fields = fields;
  }

  /** The same error with another way to get a larger context, for code that has its own option for it. */
  changedBy(change: string): ContextLengthError {
    return new ContextLengthError({ ...this.#fields, change });
  }
}

/** An input exceeds a named limit, which protects the process from untrusted input. */
export class LimitExceededError extends MarkBaseError {
  readonly code = 'LIMIT_EXCEEDED';
  /** What was refused: a path, or a description of the bytes. */
  readonly subject: string;
  /** Name of the option that holds the limit. */
  readonly limit: string;
  /** The largest value that the limit allows. */
  readonly maximum: number;
  /** The value of the input. */
  readonly received: number;

  constructor(fields: { subject: string; limit: string; maximum: number; received: number }) {
    super(
      `${fields.subject}: ${fields.limit} is ${fields.maximum}, but this is ${fields.received}: ` +
        'make the input smaller, or raise the limit for input that you trust',
    );
    this.subject = fields.subject;
    this.limit = fields.limit;
    this.maximum = fields.maximum;
    this.received = fields.received;
  }
}

function causeOf(cause: unknown): ErrorOptions | undefined {
  return cause === undefined ? undefined : { cause };
}

function list(title: string, names: readonly string[] = []): string {
  if (names.length === 0) return '';
  const shown = names.slice(0, 5).join(', ');
  return names.length > 5 ? `${title} ${names.length}: ${shown}, …` : `${title}: ${shown}`;
}

/** Shows a received value, whatever it is, in a short form. */
function describe(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = typeof value === 'bigint' ? `${value}n` : safeStringify(value);
  return text.length > 120 ? `${text.slice(0, 117)}...` : text;
}

function safeStringify(value: unknown): string {
  if (typeof value === 'number') return String(value);
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}
