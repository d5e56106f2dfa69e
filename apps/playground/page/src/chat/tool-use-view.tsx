import type { ToolUse } from '../conversation/conversation.js';

/** A tool call with its name, arguments and result; can be folded. */
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

/** Indented JSON; incomplete JSON unchanged. */
function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
