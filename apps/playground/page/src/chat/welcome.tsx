import { attachFiles } from '../media/attachments.js';
import { type LoadedModel, loadedModel } from '../model/model-state.js';
import { changeSettings } from '../settings/settings.js';
import { Icon, type IconName } from '../shell/icon.js';
import { togglePanel } from '../shell/panels.js';
import { draft, send } from './actions.js';

/** Something to try with one click. */
interface Example {
  readonly icon: IconName;
  readonly title: string;
  readonly text: string;
  /** Files to choose first, as the `accept` of a file input. */
  readonly accept?: string;
  /** The question needs the demo tools. */
  readonly isToolUse?: boolean;
  /** The answer is better after some thought. */
  readonly isThinking?: boolean;
}

/** An empty conversation: what the model can do, and examples that suit it. */
export function Welcome() {
  const model = loadedModel.value;
  return (
    <section class="welcome">
      <h2>{model ? 'What shall we talk about?' : 'Choose a model to begin'}</h2>
      {model ? (
        <p class="hint">{model.id} runs on this machine. What you write or attach never leaves it.</p>
      ) : (
        <p>
          <button type="button" class="primary" onClick={() => togglePanel('model')}>
            Choose a model
          </button>
        </p>
      )}
      {model && (
        <ul>
          {examplesFor(model).map((example) => (
            <li key={example.text}>
              <button type="button" class="example" onClick={() => start(example)}>
                <Icon name={example.icon} />
                <strong>{example.title}</strong>
                <span>{example.text}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function examplesFor({ id, media }: LoadedModel): Example[] {
  // The demo model knows little more than what it was trained on.
  const isDemo = id.startsWith('demo-model');
  const texts: Example[] = isDemo
    ? [
        { icon: 'speech', title: 'Story', text: 'Tell me a story about a fox and a lantern.' },
        { icon: 'thought', title: 'Thought', text: 'Solve 57 + 62.', isThinking: true },
        { icon: 'wrench', title: 'Tools', text: 'Calculate 1927 - 18.', isToolUse: true },
        { icon: 'file', title: 'Data', text: 'Make JSON with sugar Tessa.' },
      ]
    : [
        { icon: 'speech', title: 'Explain', text: 'Why is the sky blue, but red at sunset?' },
        {
          icon: 'thought',
          title: 'Think',
          text: 'Plan three days in Lisbon without a car.',
          isThinking: true,
        },
        { icon: 'wrench', title: 'Tools', text: 'What is 1927 * 18.5, minus 7?', isToolUse: true },
        { icon: 'file', title: 'Code', text: 'Write a Python function that merges two sorted lists.' },
      ];
  const image: Example = { icon: 'image', title: 'Picture', text: 'Describe the image.', accept: 'image/*' };
  const sound: Example = {
    icon: 'microphone',
    title: 'Sound',
    text: isDemo ? 'Transcribe the audio.' : 'Transcribe this recording.',
    accept: 'audio/*',
  };
  return [...texts, ...(media.image ? [image] : []), ...(media.audio ? [sound] : [])];
}

/** Sends an example; one about a file asks for the file, and leaves the question to be changed. */
function start({ text, accept, isToolUse, isThinking }: Example): void {
  draft.value = text;
  if (accept !== undefined) {
    const picker = document.createElement('input');
    picker.type = 'file';
    picker.accept = accept;
    picker.onchange = () => void attachFiles([...(picker.files ?? [])]);
    picker.click();
    return;
  }
  if (isToolUse) changeSettings({ tools: true });
  if (isThinking) changeSettings({ thinking: true });
  send();
}
