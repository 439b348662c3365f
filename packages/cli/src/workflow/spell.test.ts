import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { INPUT_FLAG, spellCommandLine } from './spell.ts';

const program = new Command('holdpoint').option('--no-ansi');
program
  .command('run')
  .option(`${INPUT_FLAG} <pair>`)
  .option('--follow')
  .option('--goal <text>')
  .option('-C, --repository <dir>')
  .option('--set <pair>');
program.command('other').option('--flag');

const spelled = (line: string): string =>
  spellCommandLine(line.split(' '), program).join(' ').replaceAll(INPUT_FLAG, 'IN');

describe('an undeclared option is an input of the workflow', () => {
  test.each([
    ['run f --slug login', 'run f IN slug=login'],
    ['run f --spec-file=a.md', 'run f IN spec_file=a.md'],
    ['run f --squash', 'run f IN squash=true'],
    ['run f --squash --follow', 'run f IN squash=true --follow'],
    ['run f --empty=', 'run f IN empty='],
    ['run f --a=b=c', 'run f IN a=b=c'],
    ['run --slug login f a', 'run IN slug=login f a'],
    ['--no-ansi run f --slug x', '--no-ansi run f IN slug=x'],
    ['run f --slug x --no-ansi', 'run f IN slug=x --no-ansi'],
  ])('`%s` stays unchanged', (typed, understood) => expect(spelled(typed)).toBe(understood));

  test('workflow run takes inputs too', () => {
    const nested = new Command('holdpoint');
    nested.command('workflow').alias('workflows').command('run').option(`${INPUT_FLAG} <pair>`);
    expect(spellCommandLine(['workflows', 'run', 'f', '--slug', 'x'], nested)).toEqual([
      'workflows',
      'run',
      'f',
      INPUT_FLAG,
      'slug=x',
    ]);
  });

  test('a value that starts with a dash is taken as the next option', () => {
    expect(spelled('run f --fast -C there')).toBe('run f IN fast=true -C there');
  });
});

describe('declared options stay unchanged', () => {
  test.each([
    'run f --goal --follow',
    'run f --goal=x -C dir --set a=b',
    'run f -x',
    'other --flag --unknown x',
    'run f -- --slug x',
  ])('`%s` stays unchanged', (line) => expect(spelled(line)).toBe(line));
});

describe('--format json is an alias of --json', () => {
  const withJson = new Command('holdpoint').option('--no-ansi');
  const list = withJson.command('task').command('list').option('--json').option('--format <format>');
  list.option('--goal <text>');
  withJson.command('graph').option('--format <format>');
  test.each([
    ['task list --format json', 'task list --json'],
    ['task list --format=json --goal x', 'task list --json --goal x'],
    ['task list --format text --goal x', 'task list --goal x'],
    ['task list --format table', 'task list --format table'],
    ['task list --format', 'task list --format'],
    ['task list -- --format json', 'task list -- --format json'],
    ['task list --goal json', 'task list --goal json'],
    ['graph --format json', 'graph --format json'],
  ])('`%s` becomes `%s`', (typed, understood) =>
    expect(spellCommandLine(typed.split(' '), withJson).join(' ')).toBe(understood),
  );
});
