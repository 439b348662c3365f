import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { isAlias } from './reference/markdown.ts';
import { completionsOf } from './completions/scripts.ts';
import { createProgram } from './program.ts';
import { typeLine } from '../testing/terminal.ts';

const program = createProgram(
  {
    connect: () => Promise.reject(new Error('nobody is asked')),
    out: () => undefined,
    err: () => undefined,
    now: () => 0,
  },
  [],
).program;
const paths = completionsOf(program)
  .map(({ path }) => path)
  .filter((path) => path !== '');

describe('help', () => {
  test('every command has help', () => {
    expect(program).toBeInstanceOf(Command);
    expect(paths.length).toBeGreaterThan(40);
  });

  test.each(paths)('the help of `%s` has an example', async (path) => {
    const { code, out, err } = await typeLine([...path.split(' '), '--help']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(new RegExp(`^Examples?:\\n  holdpoint ${path.split(' ')[0] ?? ''}\\b`, 'm'));
  });
});

const leaves = (command: Command, path: string): readonly (readonly [path: string, command: Command])[] =>
  command.commands.length === 0
    ? [[path, command]]
    : command.commands.flatMap((child) => leaves(child, `${path} ${child.name()}`.trim()));
const commands = leaves(program, '');

/** Their output is a drawing, a file or a protocol. */
const NO_JSON = new Set([
  'workflow graph',
  'artifact get',
  'audit export',
  'mcp',
  'completions',
  'dev',
  'serve',
  'nats export',
  'provision credentials',
  'provision nats',
  'provision postgres',
]);
const COMMANDS_MAX = 78;

describe('the tree of commands', () => {
  test(`there are at most ${String(COMMANDS_MAX)} commands beside aliases`, () => {
    const own = commands.filter(([path]) => !isAlias(path)).map(([path]) => path);
    expect(own.length).toBeGreaterThan(50);
    expect(own.length).toBeLessThanOrEqual(COMMANDS_MAX);
  });

  test.each(commands)('`%s` prints JSON with --json, and --format never names it', (path, command) => {
    const json = command.options.find(({ long }) => long === '--json');
    expect(json !== undefined).toBe(!NO_JSON.has(path));
    const format = command.options.find(({ long }) => long === '--format');
    expect(format?.description ?? '').not.toContain('json');
  });

  test('--format json means --json for every command', async () => {
    const answers = { 'approvals.list': { items: [] } };
    const { out } = await typeLine(['approval', 'list', '--json'], answers);
    expect(JSON.parse(out)).toEqual({ items: [] });
    expect((await typeLine(['approval', 'list', '--format', 'json'], answers)).out).toBe(out);
  });
});

test.each([
  ['task submit --workflow sample --goal', ''],
  ['task submit --workflow sample --goal', ' '],
  ['run flow --goal', ''],
])('%s %j names the missing goal', async (line, goal) => {
  const { code, err, calls } = await typeLine([...line.split(' '), goal]);
  expect({ code, calls }).toEqual({ code: 2, calls: [] });
  expect(err).toContain('the goal is empty: describe the result that you want');
});
