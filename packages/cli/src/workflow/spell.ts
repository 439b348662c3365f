import type { Command, Option } from 'commander';

/** Internal option that carries an input given as `--name value`. */
export const INPUT_FLAG = '--input-named';

const isFlag = (word: string): boolean => word.startsWith('--') && word.length > 2;

const optionFor = (options: readonly Option[], word: string): Option | undefined => {
  const [name] = word.split('=', 1);
  return options.find(({ long, short }) => long === name || short === word);
};

/**
 * Rewrites inputs of a workflow, which look like undeclared options: `--spec-file a.md`, `--spec-file=a.md`, or `--fast`
 * (true). A value that starts with a dash needs `=`. Words after `--` stay as they are.
 */
export const spellInputs = (words: readonly string[], options: readonly Option[]): readonly string[] => {
  const spelled: string[] = [];
  for (let i = 0; i < words.length; i += 1) {
    const word = words[i] ?? '';
    if (word === '--') return [...spelled, ...words.slice(i)];
    const option = optionFor(options, word);
    const next = words[i + 1];
    if (option !== undefined) {
      const takesNext = option.required && !word.includes('=') && next !== undefined;
      spelled.push(word, ...(takesNext ? [next] : []));
      i += takesNext ? 1 : 0;
    } else if (isFlag(word)) {
      const [, name = '', value] = /^--([^=]*)(?:=(.*))?$/su.exec(word) ?? [];
      const takesNext = value === undefined && next !== undefined && !next.startsWith('-');
      spelled.push(INPUT_FLAG, `${name.replaceAll('-', '_')}=${value ?? (takesNext ? next : 'true')}`);
      i += takesNext ? 1 : 0;
    } else spelled.push(word);
  }
  return spelled;
};

const childOf = (command: Command, word: string | undefined): Command | undefined =>
  command.commands.find((child) => word !== undefined && [child.name(), ...child.aliases()].includes(word));

const takesInputs = (command: Command): boolean => command.options.some(({ long }) => long === INPUT_FLAG);

/** The same for a whole command line, if it selects `run` or `workflow run`. */
export const spellCommandLine = (args: readonly string[], program: Command): readonly string[] => {
  let command = program;
  for (const [at, word] of args.entries()) {
    if (word.startsWith('-')) continue;
    const child = childOf(command, word);
    if (child === undefined) return args;
    if (takesInputs(child))
      return [
        ...args.slice(0, at + 1),
        ...spellInputs(args.slice(at + 1), [...child.options, ...program.options]),
      ];
    command = child;
  }
  return args;
};
