import { MarkBaseError } from '@markbase/core';

/** An answer is JSON that its JSON Schema allows, but a further check of the schema refuses it. */
export class InvalidAnswerError extends MarkBaseError {
  readonly code = 'INVALID_ANSWER';
  /** The answer. */
  readonly text: string;
  /** What the schema says about it. */
  readonly problem: string;

  constructor(fields: { text: string; problem: string }) {
    super(`the answer does not satisfy its schema: ${fields.problem}; ask again, or relax the schema`);
    this.text = fields.text;
    this.problem = fields.problem;
  }
}
