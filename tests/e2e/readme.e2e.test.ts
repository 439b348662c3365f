import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readSource } from '../repo/source-tree.ts';
import { coveredCommands, coverOf, gapsOf } from './readme-covered.ts';
import { createDesk, type Desk } from './readme-desk.ts';
import { effectNameOf, effectNames, expectEffect } from './readme-effects.ts';
import { documentedIn } from './readme-lines.ts';
import { findTools } from './readme-process.ts';

const tools = await findTools(process.env);
const documented = ['README.md', 'docs/operations.md'].flatMap((file) =>
  documentedIn(file, readSource(file)),
);

/** What two documents say alike is typed once. */
const typed = [...new Map(documented.map((each) => [each.words.join(' '), each])).values()].filter(
  ({ words }) => coverOf(words) === undefined,
);

/** Why a command cannot be typed on this machine. */
const obstacleTo = ([program, ...args]: readonly string[]): string | undefined => {
  if (program !== 'nats') return undefined;
  if (tools.nats === undefined) return 'there is no nats command: neither HOLDPOINT_NATS_CLI nor one on PATH';
  return args[0] === 'stream' && !tools.hasTerminals
    ? 'it needs a terminal, and there is no script'
    : undefined;
};
for (const { line, words } of typed) {
  const obstacle = obstacleTo(words);
  if (obstacle !== undefined) process.stderr.write(`documents: skipped, because ${obstacle}: ${line}\n`);
}

describe('the commands of README.md and docs/operations.md', () => {
  test('are all known here, and nothing is known that they do not have', () => {
    const unknown = typed.filter(({ words }) => effectNameOf(words) === undefined);
    expect(unknown.map(({ file, line }) => `${file}: ${line}`)).toEqual([]);
    const used = documented.map(({ words }) => effectNameOf(words) ?? words.join(' '));
    expect([...effectNames, ...coveredCommands].filter((name) => !used.includes(name))).toEqual([]);
  });

  test.for(coveredCommands)('%s is tried by a test of its own', (line) => {
    const cover = coverOf(line.split(' ')) ?? [];
    expect(cover).not.toEqual([]);
    expect(gapsOf(cover)).toEqual([]);
  });
});

describe('typed as it stands in the document,', () => {
  let desk: Desk;
  beforeAll(async () => {
    desk = await createDesk(documented, tools);
  });
  afterAll(() => desk.leave());

  test.for(typed)('$line', async ({ words }, { skip }) => {
    const obstacle = obstacleTo(words);
    skip(obstacle !== undefined, obstacle);
    await expectEffect(desk, words);
  });
});
