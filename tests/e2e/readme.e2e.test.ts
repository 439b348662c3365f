import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readSource } from '../repo/source-tree.ts';
import { coveredCommands, coverOf, gapsOf } from './readme-covered.ts';
import { createDesk, type Desk } from './readme-desk.ts';
import { expectEffect, forgottenOf, undecidedOf } from './readme-effects.ts';
import { documentedIn } from './readme-lines.ts';
import { findTools } from './readme-process.ts';

const tools = await findTools(process.env);
const documented = [
  'README.md',
  'docs/operations.md',
  'docs/workflows.md',
  'docs/approvals.md',
  'docs/backup.md',
  'docs/mcp.md',
  'docs/effects.md',
  'docs/capabilities.md',
  'docs/recovery.md',
  'docs/concepts.md',
  'docs/deployment.md',
  'docs/scaling.md',
  'docs/security.md',
  'docs/upgrade.md',
  'CONTRIBUTING.md',
  'docs/sdk.md',
  'docs/porting.md',
  'examples/coding-agent/README.md',
  'examples/data-migration/README.md',
  'examples/support-reply/README.md',
].flatMap((file) => documentedIn(file, readSource(file)));

/** What two documents say alike is typed once. */
const typed = [...new Map(documented.map((each) => [each.words.join(' '), each])).values()].filter(
  ({ words }) => coverOf(words) === undefined,
);

/** Why a command cannot be typed on this machine. */
const obstacleTo = ([program, verb]: readonly string[]): string | undefined => {
  if (program !== 'nats') return undefined;
  if (tools.nats === undefined) return 'there is no nats command: neither HOLDPOINT_NATS_CLI nor one on PATH';
  return verb === 'stream' && !tools.hasTerminals ? 'it needs a terminal, and there is no script' : undefined;
};

describe('the commands of the documents', () => {
  test('are all tried by somebody, and nothing else is', () => {
    expect(undecidedOf(documented)).toEqual([]);
    expect(forgottenOf(documented)).toEqual([]);
  });

  test('are missed when nobody has decided what they have to do', () => {
    const unheard = documentedIn('a.md', "```sh\nnpm start --now\nnats sub 'hp.log.>'  # output\n```");
    expect(undecidedOf(unheard)).toEqual(['a.md: npm start --now', "a.md: nats sub 'hp.log.>'"]);
    expect(forgottenOf(unheard)).toContain('npm start');
  });

  test.for(coveredCommands)('%s is tried by a test of its own', (line) => {
    const cover = coverOf(line.split(' ')) ?? [];
    expect(cover).not.toEqual([]);
    expect(gapsOf(cover)).toEqual([]);
  });
});

describe('in a clone with a stack running', () => {
  let desk: Desk;
  beforeAll(async () => {
    desk = await createDesk(documented, tools);
  });
  afterAll(() => desk.leave());

  for (const { line, words } of typed) {
    const obstacle = obstacleTo(words);
    if (obstacle !== undefined) process.stderr.write(`documents: skipped, because ${obstacle}: ${line}\n`);
    test.skipIf(obstacle !== undefined)(`${line} does what it is documented for`, () =>
      expectEffect(desk, words),
    );
  }
});
