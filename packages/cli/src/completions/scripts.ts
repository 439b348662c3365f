import type { Command } from 'commander';

/** Words that can follow a command: subcommands and options. */
export type Completion = {
  /** The command's names, such as `jobs list`. */
  readonly path: string;
  readonly words: readonly string[];
};

/** Every command with the words that can follow it, top down. */
export const completionsOf = (command: Command, path = ''): readonly Completion[] => {
  const help = command.createHelp();
  const below = help.visibleCommands(command).filter((child) => child.name() !== 'help');
  const options = help
    .visibleOptions(command)
    .flatMap(({ long, short }) =>
      [long, short].filter((name): name is string => name !== undefined && name !== null),
    );
  const words = [...below.map((child) => child.name()), ...options];
  return [
    { path, words: [...new Set(words)] },
    ...below.flatMap((child) => completionsOf(child, path === '' ? child.name() : `${path} ${child.name()}`)),
  ];
};

/** Names consist of letters and dashes, so the scripts need no quoting. Throws otherwise. */
const checked = (completions: readonly Completion[]): readonly Completion[] => {
  for (const { path, words } of completions)
    for (const word of [...path.split(' '), ...words])
      if (!/^[a-z-]*$/i.test(word))
        throw new TypeError(`invalid name for shell completion: ${JSON.stringify(word)}`);
  return completions;
};

const commandsOf = (completions: readonly Completion[]): readonly string[] =>
  completions.map(({ path }) => path).filter((path) => path !== '');

/** Pattern of all command paths. */
const commandPattern = (completions: readonly Completion[]): string =>
  commandsOf(completions)
    .map((path) => `'${path}'`)
    .join('|');

const bash = (
  completions: readonly Completion[],
): string => `# bash completion for holdpoint: source it, or put it into bash_completion.d
_holdpoint() {
  local at='' word words current="\${COMP_WORDS[COMP_CWORD]}"
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${at:+$at }$word" in
      ${commandPattern(completions)}) at="\${at:+$at }$word" ;;
    esac
  done
  case "$at" in
${completions.map(({ path, words }) => `    '${path}') words='${words.join(' ')}' ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _holdpoint holdpoint
`;

const zsh = (completions: readonly Completion[]): string => `#compdef holdpoint
# zsh completion for holdpoint: put it as _holdpoint into a folder of $fpath
_holdpoint() {
  local at='' word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${at:+$at }$word" in
      ${commandPattern(completions)}) at="\${at:+$at }$word" ;;
    esac
  done
  case "$at" in
${completions.map(({ path, words }) => `    '${path}') compadd -- ${words.join(' ')} ;;`).join('\n')}
  esac
  _files
}
if [ "$funcstack[1]" = "_holdpoint" ]; then _holdpoint "$@"; else compdef _holdpoint holdpoint; fi
`;

const fish = (
  completions: readonly Completion[],
): string => `# fish completion for holdpoint: put it into ~/.config/fish/completions
function __holdpoint_at
    set -l at
    for word in (commandline -opc)[2..-1]
        switch (string join ' ' $at $word)
            case ${commandsOf(completions)
              .map((path) => `'${path}'`)
              .join(' ')}
                set at $at $word
        end
    end
    string join ' ' $at
end
${completions.map(({ path, words }) => `complete -c holdpoint -n 'test "$(__holdpoint_at)" = "${path}"' -a '${words.join(' ')}'`).join('\n')}
`;

const SCRIPTS = { bash, zsh, fish } as const;
export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** A shell completion script for all commands and options. */
export const completionScript = (program: Command, shell: Shell): string =>
  SCRIPTS[shell](checked(completionsOf(program)));
