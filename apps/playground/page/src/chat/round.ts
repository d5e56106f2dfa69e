import type { ChatEvent } from '../api/chat-stream.js';
import type { Round, ToolUse } from '../conversation/conversation.js';

/** A round without content. */
export const EMPTY_ROUND: Round = { reasoning: '', text: '', toolUses: [] };

/** A round extended by an event. */
export function grownRound(
  round: Round,
  event: Extract<ChatEvent, { type: 'text' | 'reasoning' | 'tool' }>,
): Round {
  if (event.type === 'text') return { ...round, text: round.text + event.text };
  if (event.type === 'reasoning') return { ...round, reasoning: round.reasoning + event.text };
  const toolUses = [...round.toolUses];
  const known: ToolUse = toolUses[event.index] ?? { id: '', name: '', arguments: '', result: null };
  toolUses[event.index] = {
    id: known.id || event.id,
    name: known.name || event.name,
    arguments: known.arguments + event.arguments,
    result: null,
  };
  return { ...round, toolUses };
}
