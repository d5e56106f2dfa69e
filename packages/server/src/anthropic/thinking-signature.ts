import { createHash } from 'node:crypto';

/** Begins a signature that carries the thought, because the client was not shown it. */
const CARRIED = 'thought.';

/**
 * The signature of a thinking block. Clients give blocks back as they are, and leave out those without one; nothing is
 * verified with it. The thought that a client is not shown is inside of it.
 */
export function thinkingSignature(thought: string, isShown: boolean): string {
  if (isShown) return createHash('sha256').update(thought).digest('base64url');
  return CARRIED + Buffer.from(thought).toString('base64url');
}

/** The thought of a block that a client gives back. */
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
