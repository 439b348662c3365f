import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '@holdpoint/infra/local/folders';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readSource } from '../../repo/source-tree.ts';
import { documentedIn } from './command-lines.ts';
import { effectOf, expectEffect, unusedEffects } from './effects.ts';
import { findTools } from './process.ts';
import { createReader, type Reader } from './reader.ts';
import { shapeProblem } from './shape.ts';

const tools = await findTools(process.env);
const markdownIn = (folder: string): readonly string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));
const documented = [
  'README.md',
  'CONTRIBUTING.md',
  ...markdownIn('docs'),
  'examples/coding-agent/README.md',
  'examples/data-migration/README.md',
  'examples/support-reply/README.md',
  'infra/README.md',
  'infra/chart/README.md',
  'infra/compose/README.md',
].flatMap((file) => documentedIn(file, readSource(file)));

/** A command in two documents runs once. */
const distinct = [...new Map(documented.map((each) => [each.words.join(' '), each])).values()];

/** The reason why this machine cannot run a command. */
const obstacleTo = ([program, verb]: readonly string[]): string | undefined => {
  if (program !== 'nats') return undefined;
  if (tools.nats === undefined) return 'there is no nats command: neither HOLDPOINT_NATS_CLI nor one on PATH';
  return verb === 'stream' && !tools.hasTerminals ? 'it needs a terminal, and there is no script' : undefined;
};

describe('every documented command', () => {
  test('each documented command names a command, options and files that exist', async () => {
    const problems = await Promise.all(
      distinct.map(async ({ file, line, words }) => ({ file, line, problem: await shapeProblem(words) })),
    );
    expect(problems.filter(({ problem }) => problem !== undefined)).toEqual([]);
  });

  test('a documented command with a missing command, option, script or file is reported', async () => {
    const wrong = [
      ['holdpoint', 'approval', 'aprove', 'x'],
      ['holdpoint', 'task', 'list', '--nosuch'],
      ['npm', 'run', 'nosuch'],
      ['node', 'nosuch.ts'],
      ['npx', 'nosuch'],
      ['npx', 'vitest', 'run', '--project', 'nosuch'],
      ['npx', 'vitest', 'run', '--project', 'unit', 'tests/nosuch.test.ts'],
      ['nosuch'],
      ['hp', 'approval', 'aprove', 'x'],
      ['alias', 'hp=docker compose -f nosuch.yaml run --rm cli'],
    ];
    for (const words of wrong) expect(await shapeProblem(words), words.join(' ')).toBeDefined();
  });

  test('each expectation belongs to a documented command', () => {
    expect(unusedEffects(documented)).toEqual([]);
  });
});

describe('documented commands in a clone with a running stack', () => {
  let reader: Reader;
  beforeAll(async () => {
    reader = await createReader(documented, tools);
  });
  afterAll(() => reader.leave());

  for (const { line, words } of distinct.filter((each) => effectOf(each.words) !== undefined)) {
    const obstacle = obstacleTo(words);
    if (obstacle !== undefined) process.stderr.write(`documents: skipped, because ${obstacle}: ${line}\n`);
    test.skipIf(obstacle !== undefined)(`${line} has its documented effect`, () =>
      expectEffect(reader, words),
    );
  }
});
