/** The JSON of server-sent events, up to `[DONE]` or the end of the stream. */
export async function* readEvents(body) {
  let pending = '';
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    pending += text;
    const frames = pending.split('\n\n');
    pending = frames.pop();
    for (const frame of frames) {
      const data = /^data: (.*)$/m.exec(frame)?.[1];
      if (data === '[DONE]') return;
      if (data !== undefined) yield JSON.parse(data);
    }
  }
}
