import type { ToolUse } from '../conversation/conversation.js';

/** A call of a tool, folded: its name and arguments, and its result. */
export function ToolUseView({ use }: { readonly use: ToolUse }) {
  return (
    <details class="tool" open>
      <summary>
        Tool <code>{use.name}</code>
        {use.result === null && ' …'}
      </summary>
      <dl>
        <dt>Arguments</dt>
        <dd>
          <code>{pretty(use.arguments)}</code>
        </dd>
        {use.result !== null && (
          <>
            <dt>Result</dt>
            <dd>
              <code>{pretty(use.result)}</code>
            </dd>
          </>
        )}
      </dl>
    </details>
  );
}

/** JSON with room to breathe; half-written JSON as it is. */
function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
