// SPDX-License-Identifier: Apache-2.0

// Generates command-line completion scripts, one per shell.

import type { CompletedCommand, CompletedOption } from './table.js';

/** Named values by option, over all commands; an option gets the same values in every command. */
function named(commands: readonly CompletedCommand[]): Map<string, readonly string[]> {
  const all = commands.flatMap(({ options }) => options).filter(({ values }) => values.length > 0);
  return new Map(all.map(({ name, values }) => [name, values]));
}

export function bashScript(commands: readonly CompletedCommand[]): string {
  const names = commands.map(({ name }) => name).join(' ');
  const values = [...named(commands)].map(
    ([name, words]) => `    --${name}) words='${words.join(' ')}' ;;`,
  );
  const cases = commands.map(({ name, options, words }) => {
    const flags = options.map((option) => `--${option.name}`);
    return `      ${name}) words='${[...flags, ...words].join(' ')}' ;;`;
  });
  return `_dp_ftrl() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]} words=
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '${names} help --help --version' -- "$current"))
    return
  fi
  case $previous in
${values.join('\n')}
    help) words='${names}' ;;
  esac
  if [[ -z $words && ($current == -* || \${COMP_WORDS[1]} == completion) ]]; then
    case \${COMP_WORDS[1]} in
${cases.join('\n')}
    esac
  fi
  [[ $words ]] && COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _dp_ftrl dp-ftrl
`;
}

/** Quotes a text with single quotes. */
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

function zshOption(option: CompletedOption): string {
  const { name, isFlag, isFile, repeats, description, values } = option;
  const text = description.replace(/[[\]:\\]/g, (letter) => `\\${letter}`);
  const often = repeats ? '*' : '';
  const words = values.join(' ');
  const choice = isFile ? (words ? `{compadd ${words}; _files}` : '_files') : words && `(${words})`;
  const value = isFlag ? '' : `:${name}:${choice || ' '}`;
  return quoted(`${often}--${name}[${text}]${value}`);
}

export function zshScript(commands: readonly CompletedCommand[]): string {
  const list = commands.map(
    ({ name, summary }) => `    ${quoted(`${name}:${summary.replaceAll(':', '\\:')}`)}`,
  );
  const cases = commands.map(({ name, options, words }) => {
    const rest = words.length > 0 ? `'1:name:(${words.join(' ')})'` : "'*:file:_files'";
    const specs = [...options.map(zshOption), rest].map((spec) => `        ${spec}`);
    return `    ${name})\n      _arguments \\\n${specs.join(' \\\n')}\n      ;;`;
  });
  return `#compdef dp-ftrl
_dp_ftrl() {
  local -a commands
  commands=(
${list.join('\n')}
  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  shift words
  ((CURRENT--))
  case $words[1] in
${cases.join('\n')}
    help) _describe command commands ;;
  esac
}
if [[ $funcstack[1] == _dp-ftrl ]]; then
  _dp_ftrl "$@"
else
  compdef _dp_ftrl dp-ftrl
fi
`;
}

/** Quotes a text with single quotes for fish, where backslashes escape inside them. */
const fishQuoted = (text: string) => `'${text.replace(/['\\]/g, (letter) => `\\${letter}`)}'`;

function fishOption(
  command: string,
  { name, isFlag, isFile, description, values }: CompletedOption,
): string {
  const value = isFlag ? '' : isFile ? ' -r' : ' -x';
  const choice = values.length > 0 ? ` -a '${values.join(' ')}'` : '';
  const when = `-n '__fish_seen_subcommand_from ${command}'`;
  return `complete -c dp-ftrl ${when} -l ${name}${value}${choice} -d ${fishQuoted(description)}`;
}

export function fishScript(commands: readonly CompletedCommand[]): string {
  const lines = commands.flatMap(({ name, summary, options, words }) => [
    `complete -c dp-ftrl -f -n __fish_use_subcommand -a ${name} -d ${fishQuoted(summary)}`,
    ...options.map((option) => fishOption(name, option)),
    ...(words.length > 0
      ? [`complete -c dp-ftrl -f -n '__fish_seen_subcommand_from ${name}' -a '${words.join(' ')}'`]
      : []),
  ]);
  return `${lines.join('\n')}\n`;
}
