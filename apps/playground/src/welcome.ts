import { localModels } from './models/local-models.js';
import { printLines } from './output.js';

/** Says what to do next; shown by `markbase` without arguments. */
export async function showWelcome(): Promise<void> {
  const own = (await localModels()).find(({ kind, isComplete }) => kind !== 'demo' && isComplete);
  const model = own?.name ?? 'demo';
  const examples: [string, string][] = [
    [
      `markbase run ${model}`,
      own ? 'chat in the terminal' : 'chat in the terminal with the small model that is included',
    ],
    [`markbase run ${model} "Tell me a story."`, 'one answer; also: … < file, or | markbase run …'],
    ['markbase playground', 'chat on a web page, load models, see where time and memory go'],
    [`markbase serve --model ${model}`, "OpenAI's and Anthropic's APIs for other programs"],
    ['markbase pull google/gemma-4-E2B-it', 'download a model from the Hugging Face hub'],
    ['markbase list', 'the models on this machine'],
    ['markbase doctor', 'what this machine can run'],
  ];
  const width = Math.max(...examples.map(([command]) => command.length));
  printLines([
    'markbase runs Gemma 4 models on this machine.',
    '',
    ...examples.map(([command, text]) => `  ${command.padEnd(width)}  ${text}`),
    '',
    'All commands: markbase --help; one of them: markbase run --help',
  ]);
}
