import type { ComponentChildren } from 'preact';
import { formatCount, formatDuration } from '../model/format.js';
import { loadedModel } from '../model/model-state.js';
import { Icon } from '../shell/icon.js';
import type { Attachment, TextAttachment } from './attachment.js';
import { tokenCount } from './token-count.js';
import { SAMPLE_RATE_HZ } from './wav.js';
import { Waveform } from './waveform.js';

/** A picture, a waveform or video frames, with the number of tokens. */
export function AttachmentView(props: {
  readonly attachment: Attachment;
  readonly children?: ComponentChildren;
}) {
  const { attachment, children } = props;
  const media = loadedModel.value?.media;
  const tokens = media ? tokenCount(attachment, media) : null;
  return (
    <figure class="attachment">
      <Preview attachment={attachment} />
      <figcaption>
        <span class="attachment-name">{attachment.name}</span>
        <span class="hint">
          {describe(attachment)}
          {tokens !== null &&
            `, ${attachment.kind === 'text' ? 'about ' : ''}${formatCount(tokens, 'token')}`}
        </span>
        {children}
      </figcaption>
    </figure>
  );
}

function Preview({ attachment }: { readonly attachment: Attachment }) {
  switch (attachment.kind) {
    case 'image':
      return <img src={attachment.url} alt={attachment.name} />;
    case 'audio':
      return (
        <div class="sound">
          <Waveform peaks={attachment.peaks} label={`Waveform of ${attachment.name}`} />
          {/* A sound attached by the user has no captions. */}
          {/* biome-ignore lint/a11y/useMediaCaption: see above */}
          <audio
            controls
            preload="none"
            src={`data:audio/wav;base64,${attachment.wav}`}
            aria-label={attachment.name}
          />
        </div>
      );
    case 'text':
      return <TextPreview attachment={attachment} />;
    case 'video':
      return (
        <div class="frames">
          {attachment.frames.map(({ url, timestampSeconds }) => (
            <img
              key={timestampSeconds}
              src={url}
              alt={`${attachment.name} at ${timestampSeconds.toFixed(1)} s`}
            />
          ))}
        </div>
      );
  }
}

/** The beginning of a text; it opens to the whole. */
function TextPreview({ attachment: { name, text } }: { readonly attachment: TextAttachment }) {
  return (
    <details class="text-preview">
      <summary aria-label={`Text of ${name}`}>
        <Icon name="file" />
      </summary>
      {/* A scrollable region must be reachable with the keyboard. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: see above */}
      <pre tabIndex={0}>{text}</pre>
    </details>
  );
}

function describe(attachment: Attachment): string {
  if (attachment.kind === 'text') {
    const lines = formatCount(attachment.text.split('\n').length, 'line');
    return attachment.pageCount === null ? lines : formatCount(attachment.pageCount, 'page');
  }
  if (attachment.kind === 'audio') return formatDuration((1000 * attachment.sampleCount) / SAMPLE_RATE_HZ);
  const size = `${attachment.width} × ${attachment.height}`;
  if (attachment.kind === 'image') return size;
  const fit = attachment.isCutToFit ? ' that fit the context' : '';
  return `${size}, ${formatCount(attachment.frames.length, 'frame')}${fit}`;
}
