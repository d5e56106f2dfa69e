/** What a server tells about; the fields are safe to log: no prompts, no answers, no keys. */
export type LogFields = Readonly<Record<string, string | number | boolean | null>>;

/** Receives what a server has to say. Any logger with these methods in this order of arguments fits. */
export interface Logger {
  info(message: string, fields: LogFields): void;
  warn(message: string, fields: LogFields): void;
  /** @param error what was caught, for its stack */
  error(message: string, fields: LogFields, error: unknown): void;
}
