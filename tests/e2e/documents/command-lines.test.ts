import { describe, expect, test } from 'vitest';
import { documentedIn, readLine } from './command-lines.ts';

describe('reading a command line', () => {
  test.each([
    [`nats sub 'hp.evt.>'   # every event`, ['nats', 'sub', 'hp.evt.>']],
    [`x --goal "Say hello" --input a=b`, ['x', '--goal', 'Say hello', '--input', 'a=b']],
    [`x <task> 'a.*.<task>' '{"id":"<task>"}'`, ['x', '<task>', 'a.*.<task>', '{"id":"<task>"}']],
    [`x "$PWD/a b" $PWD '$PWD' ''`, ['x', '<PWD>/a b', '<PWD>', '$PWD', '']],
    [`x a'b c'"d e"`, ['x', 'ab cd e']],
    ['# only a comment', []],
  ])('%s', (line, words) => {
    expect(readLine(line).words).toEqual(words);
  });

  test.each([
    'nats sub hp.evt.>',
    'nats sub hp.evt.*',
    'a | b',
    'a && b',
    'a; b',
    'a $HOME',
    'a `b`',
    `a "b`,
    'a > b',
    `${'a'.repeat(50_000)};`,
  ])('are refused where a shell would do more than split them (case %#)', (line) => {
    expect(() => readLine(line)).toThrow('cannot be read from here on');
  });
});

describe('reading the commands of a document', () => {
  const lines = (markdown: string): readonly string[] =>
    documentedIn('a.md', markdown).map(({ line }) => line);

  test('the commands are the lines of shell blocks and the command spans in sentences', () => {
    const markdown = [
      'Type `npm start`, with `nats-server` on the `PATH`; see the `nats` command.',
      '```sh\n# first\nnats micro ls  # the services\n\nnode a.ts \\\n  --b c\n```',
      '- in a list: `node infra/x.ts <folder>`',
      '```bash title\nnpm test\n```',
      '```ts\nnats.connect();\n```',
      '```\nnpm run diagram\n```',
    ].join('\n\n');
    expect(lines(markdown)).toEqual([
      'npm start',
      'nats micro ls',
      'node a.ts  --b c',
      'node infra/x.ts <folder>',
      'npm test',
    ]);
  });

  test('a file for the output is no part of a command', () => {
    expect(lines('```sh\nnode a.ts > out/b.conf   # public\ncat c > d\n```')).toEqual(['node a.ts', 'cat c']);
    expect(() => lines('```sh\na > b > c\n```')).toThrow('a.md: a > b > c');
  });

  test('an unreadable command is reported with its document', () => {
    expect(() => lines('```sh\na | b\n```')).toThrow('a.md: a | b');
  });
});
