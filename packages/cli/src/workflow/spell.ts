import type { Command, Option } from 'commander';

/** Carries `name=value` of an input that was given as an option of its own. Nobody types it. */
export const INPUT_FLAG = '--input-named';

const isFlag = (word: string): boolean => word.startsWith('--') && word.length > 2;

const optionFor = (options: readonly Option[], word: string): Option | undefined => {
  const [name] = word.split('=', 1);
  return options.find(({ long, short }) => long === name || short === word);
};

/**
 * Inputs of a flow look like options that nobody has declared: `--spec-file a.md`, `--spec-file=a.md`, or `--fast` alone,
 * which is true. They are spelled out here, so that what is declared and what is not cannot be mixed up later. A value that
 * begins with a dash is written with `=`; behind `--` every word is what it is.
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

/** The same for a whole command line, when it is about the command that takes such inputs. */
export const spellCommandLine = (
  args: readonly string[],
  program: Command,
  name: string,
): readonly string[] => {
  const at = args.findIndex((word) => !word.startsWith('-'));
  const command = program.commands.find((child) => child.name() === name);
  if (command === undefined || args[at] !== name) return args;
  return [
    ...args.slice(0, at + 1),
    ...spellInputs(args.slice(at + 1), [...command.options, ...program.options]),
  ];
};
