import type { ToolUse } from '../conversation/conversation.js';
import { Icon } from '../shell/icon.js';

/** A tool call in one line: `calculate(1927 - 18) → 1909`. It opens to the complete arguments and result. */
export function ToolUseView({ use }: { readonly use: ToolUse }) {
  return (
    <details class="tool">
      <summary>
        <Icon name="wrench" />
        <code>
          {use.name}({brief(use.arguments)})
        </code>
        {' → '}
        {use.result === null ? '…' : <code>{brief(use.result)}</code>}
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

/** The only value of an object, or its fields as `name: value`; incomplete JSON unchanged. */
function brief(json: string): string {
  const value = parsed(json);
  if (value === undefined) return json;
  if (typeof value !== 'object' || value === null) return String(value);
  const fields = Object.entries(value).map(([name, field]) => [name, plain(field)] as const);
  return fields.length === 1
    ? fields[0]![1]
    : fields.map(([name, text]) => (Array.isArray(value) ? text : `${name}: ${text}`)).join(', ');
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Indented JSON; incomplete JSON unchanged. */
function pretty(json: string): string {
  const value = parsed(json);
  return value === undefined ? json : JSON.stringify(value, null, 2);
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
