import { expect, it } from 'vitest';
import { type ServerSentEvent, serverSentEvents } from './server-sent-events.js';

async function read(text: string, pieceBytes: number): Promise<ServerSentEvent[]> {
  const bytes = new TextEncoder().encode(text);
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let begin = 0; begin < bytes.length; begin += pieceBytes) {
        controller.enqueue(bytes.slice(begin, begin + pieceBytes));
      }
      controller.close();
    },
  });
  const events: ServerSentEvent[] = [];
  for await (const event of serverSentEvents(stream)) events.push(event);
  return events;
}

it('reads events in pieces of any size, with comments, names, joined lines and all kinds of line breaks', async () => {
  const text =
    ': keep-alive\n\ndata: {"a": "é"}\n\nevent: error\r\ndata: one\r\ndata:two\r\n\r\nid: 7\n\ndata: [DONE]';
  const expected = [
    { event: 'message', data: '{"a": "é"}' },
    { event: 'error', data: 'one\ntwo' },
    { event: 'message', data: '[DONE]' },
  ];
  for (const pieceBytes of [1, 2, 3, 7, 1000]) expect(await read(text, pieceBytes)).toEqual(expected);
});
