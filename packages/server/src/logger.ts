/** Fields of a log entry. They are safe to log: no prompts, answers or keys. */
export type LogFields = Readonly<Record<string, string | number | boolean | null>>;

/** Receives the server's log entries. Any logger with these methods and this argument order fits. */
export interface Logger {
  /** Records something ordinary. */
  info(message: string, fields: LogFields): void;
  /** Records something that the operator should see. */
  warn(message: string, fields: LogFields): void;
  /** @param error the caught value, for its stack */
  error(message: string, fields: LogFields, error: unknown): void;
}
