import { createHash } from 'node:crypto';

/** Prefix of signatures that carry the thought because it was not shown to the client. */
const CARRIED = 'thought.';

/**
 * The signature of a thinking block. Clients send signed blocks back unchanged, and drop those without a signature;
 * nothing is verified with it. A thought that is not shown to the client is inside its signature.
 */
export function thinkingSignature(thought: string, isShown: boolean): string {
  if (isShown) return createHash('sha256').update(thought).digest('base64url');
  return CARRIED + Buffer.from(thought).toString('base64url');
}

/** The thought in a block that a client sends back. */
export function thoughtOf({
  thinking,
  signature,
}: {
  thinking: string;
  signature?: string | null | undefined;
}): string {
  if (thinking !== '' || !signature?.startsWith(CARRIED)) return thinking;
  return Buffer.from(signature.slice(CARRIED.length), 'base64url').toString();
}
