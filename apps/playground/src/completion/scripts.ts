import type { CompletedCommand, CompletionModel } from './completion-model.js';

/** Supported shells. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** One of the supported shells. */
export type Shell = (typeof SHELLS)[number];

/** The script that makes a shell complete the program's commands and options. */
export function completionScript(shell: Shell, model: CompletionModel): string {
  if (shell === 'bash') return bashScript(model);
  return shell === 'zsh' ? zshScript(model) : fishScript(model);
}

function bashScript({ program, commands }: CompletionModel): string {
  const cases = commands.map((command) => {
    const words = [...command.options.map(({ flag }) => flag), ...command.words].join(' ');
    return `    ${command.name}) words=${quoted(words)} ;;`;
  });
  return `# bash completion for ${program}. Usage: source <(${program} completion bash)
_${program}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" words=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W ${quoted(commands.map(({ name }) => name).join(' '))} -- "$current"))
    return
  fi
  case "\${COMP_WORDS[1]} $previous" in
${valueCases(commands)}
  esac
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _${program} ${program}
`;
}

/** What follows an option: one of its choices, a file, or any text. */
function valueCases(commands: readonly CompletedCommand[]): string {
  const lines = commands.flatMap(({ name, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .map(({ flag, choices, isPath }) => {
        const reply = choices
          ? `COMPREPLY=($(compgen -W ${quoted(choices.join(' '))} -- "$current"))`
          : isPath
            ? 'COMPREPLY=($(compgen -f -- "$current"))'
            : ':';
        return `    ${quoted(`${name} ${flag}`)}) ${reply}; return ;;`;
      }),
  );
  return lines.join('\n');
}

function zshScript({ program, commands }: CompletionModel): string {
  const names = commands.map(
    ({ name, description }) => `    ${quoted(`${name}:${description.replaceAll(':', '\\:')}`)}`,
  );
  const cases = commands.map(({ name, options, words }) => {
    const specs = options.map(({ flag, description, takesValue, choices, isPath }) => {
      const text = description.replace(/[[\]:]/g, '\\$&');
      const value = choices
        ? `:value:(${choices.join(' ')})`
        : isPath
          ? ':file:_files'
          : takesValue
            ? ':value: '
            : '';
      return quoted(`${flag}[${text}]${value}`);
    });
    const positional = words.length > 0 ? [quoted(`1:word:(${words.join(' ')})`)] : [];
    return `    ${name}) _arguments ${[...specs, ...positional].join(' \\\n      ')} ;;`;
  });
  return `#compdef ${program}
# zsh completion for ${program}. Usage: source <(${program} completion zsh)
_${program}() {
  local -a commands
  commands=(
${names.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${cases.join('\n')}
  esac
}
compdef _${program} ${program}
`;
}

function fishScript({ program, commands }: CompletionModel): string {
  const lines = commands.flatMap(({ name, description, options, words }) => [
    `complete -c ${program} -n __fish_use_subcommand -f -a ${name} -d ${fishQuoted(description)}`,
    ...words.map((word) => `complete -c ${program} -n '__fish_seen_subcommand_from ${name}' -f -a ${word}`),
    ...options.map(({ flag, description: text, takesValue, choices, isPath }) => {
      const value = choices
        ? ` -x -a ${fishQuoted(choices.join(' '))}`
        : isPath
          ? ' -r -F'
          : takesValue
            ? ' -x'
            : '';
      const option = `-l ${flag.replace(/^--/, '')} -d ${fishQuoted(text)}${value}`;
      return `complete -c ${program} -n '__fish_seen_subcommand_from ${name}' ${option}`;
    }),
  ]);
  return `# fish completion for ${program}. Usage: ${program} completion fish | source\n${lines.join('\n')}\n`;
}

/** Quotes any text as a word for bash and zsh. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
