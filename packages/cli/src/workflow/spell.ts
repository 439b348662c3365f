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

/**
 * `--format json` means `--json` for every command that has it, and `--format text` means its absence. Words after
 * `--` stay as they are.
 */
const spellFormat = (words: readonly string[]): readonly string[] => {
  const end = words.indexOf('--');
  const own = end < 0 ? words : words.slice(0, end);
  const spelled = own.flatMap((word, i): readonly string[] => {
    const value = word === '--format' ? own[i + 1] : /^--format=(.*)$/su.exec(word)?.[1];
    if (value === 'json') return ['--json'];
    if (value === 'text') return [];
    const [before, given] = [own[i - 1], word];
    return before === '--format' && (given === 'json' || given === 'text') ? [] : [word];
  });
  return [...spelled, ...words.slice(own.length)];
};

const takesInputs = (command: Command): boolean => command.options.some(({ long }) => long === INPUT_FLAG);

/** Rewrites a whole command line: inputs of `run` and `workflow run`, and `--format json`. */
export const spellCommandLine = (args: readonly string[], program: Command): readonly string[] => {
  let command = program;
  for (const [at, word] of args.entries()) {
    if (word.startsWith('-')) continue;
    const child = childOf(command, word);
    if (child === undefined) return args;
    command = child;
    if (child.commands.length > 0) continue;
    const rest = args.slice(at + 1);
    const words = child.options.some(({ long }) => long === '--json') ? spellFormat(rest) : rest;
    const own = takesInputs(child) ? spellInputs(words, [...child.options, ...program.options]) : words;
    return [...args.slice(0, at + 1), ...own];
  }
  return args;
};
