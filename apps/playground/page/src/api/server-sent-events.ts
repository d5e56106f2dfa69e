/** One event of a stream. */
export interface ServerSentEvent {
  /** 'message' unless the server names it. */
  readonly event: string;
  readonly data: string;
}

/**
 * Reads `text/event-stream`: events end at an empty line, comments are skipped, multiple data lines are joined.
 *
 * @param body bytes in pieces of any size
 */
export async function* serverSentEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      // A lone \r at the end may be half of a \r\n.
      const end = !done && rest.endsWith('\r') ? rest.length - 1 : rest.length;
      const blocks = `${rest.slice(0, end).replace(/\r\n?/g, '\n')}`.split('\n\n');
      rest = (done ? '' : blocks.pop()!) + rest.slice(end);
      for (const block of blocks) {
        const event = parseBlock(block);
        if (event) yield event;
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function parseBlock(block: string): ServerSentEvent | null {
  let event = 'message';
  const data: string[] = [];
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':');
    if (colon === 0 || line === '') continue;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'event') event = value;
    if (name === 'data') data.push(value);
  }
  return data.length === 0 ? null : { event, data: data.join('\n') };
}
