import { MarkBaseError } from '@markbase/core';

/** The chat template of a checkpoint cannot be parsed, or refuses a conversation. */
export class ChatTemplateError extends MarkBaseError {
  readonly code = 'CHAT_TEMPLATE';
  /** File that contains the template. */
  readonly path: string;
  /** What the template does not accept. */
  readonly reason: string;

  constructor(fields: { path: string; reason: string; cause?: unknown }) {
    super(
      `chat template of ${fields.path}: ${fields.reason}`,
      fields.cause === undefined ? undefined : { cause: fields.cause },
    );
    this.path = fields.path;
    this.reason = fields.reason;
  }
}
