import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Held, HELD, json, startHeld } from './support/held.ts';
import { createRepository } from './support/repository.ts';
import { enqueue, newRun } from './support/runs.ts';
import { startStack, type Stack } from './support/stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(async () => {
  await stack.stop();
});

type Row = {
  readonly job_id: string;
  readonly status: string;
  readonly created_at: string;
  readonly order: number;
};
type Edge = { readonly from: string; readonly to: string; readonly state?: string };
type Schedule = {
  readonly version: number;
  readonly ordering: string;
  readonly jobs: readonly Row[];
  readonly edges: readonly Edge[];
};

// This test runs first, while there are no jobs.
test.each([
  ['summary', 'no jobs scheduled\n'],
  ['dag', 'no jobs scheduled\n'],
  ['json', '{"version":1,"ordering":"created_at_then_job_id","jobs":[],"edges":[]}\n'],
])('53. an empty schedule says so in the format %s', async (format, out) => {
  const { holdpoint } = createRepository(stack);
  expect(await holdpoint('jobs', 'schedule', '--format', format)).toEqual({ code: 0, out, err: '' });
});

test('54. --watch is refused without a terminal, without escape sequences, and for formats other than the summary', async () => {
  const { holdpoint } = createRepository(stack);
  for (const words of [[], ['--format', 'dag'], ['--format', 'json']]) {
    const { code, out, err } = await holdpoint('jobs', 'schedule', '--watch', ...words);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(
      /^error CLI_SCHEDULE_OPTIONS: (--watch needs (a terminal|--format)|use either --watch or --json)/,
    );
  }
  const plain = await holdpoint('--no-ansi', 'jobs', 'schedule', '--watch');
  expect(plain.err).toContain('no --no-ansi');
});

describe('a schedule of runs that block each other', () => {
  let held: Held;
  let later: string;
  let apart: string;
  beforeAll(async () => {
    held = await startHeld(stack);
    const flow = '.holdpoint/workflows/held.toml';
    later = newRun();
    await enqueue(held.repository, flow, '--after', held.job('next'), '--id', later);
    // In another repository, so that no edge connects the two.
    apart = (await startHeld(stack)).run;
  });

  const schedule = (...words: readonly string[]) =>
    json<Schedule>(held.repository, 'jobs', 'schedule', ...words);
  const idsOf = ({ jobs }: Schedule) => jobs.map(({ job_id: id }) => id);

  test('55. the schedule has an edge from the producer of an artifact, and shows whether the artifact is available', async () => {
    const { edges } = await schedule('--all');
    const to = edges.filter((edge) => edge.to === held.job('taker'));
    expect(to).toContainEqual({
      from: held.job('hold'),
      to: held.job('taker'),
      artifact: 'custom:thing:held',
      state: 'coming',
    });
    expect(to).toContainEqual({
      from: '',
      to: held.job('taker'),
      artifact: 'custom:thing:absent',
      state: 'missing',
    });
    const { out } = await held.repository.holdpoint('jobs', 'schedule', '--format', 'dag');
    expect(out).toContain(`<- custom:thing:held [coming] from ${held.job('hold')}`);
    expect(out).toContain('<- custom:thing:absent [missing]');
  });

  test('56. the schedule has an edge from each job in `after`, in the same run and in another', async () => {
    const { edges } = await schedule();
    const success = { after: { policy: 'success' } };
    expect(edges).toContainEqual({ from: held.job('hold'), to: held.job('next'), ...success });
    expect(edges).toContainEqual({ from: held.job('next'), to: `${later}/good`, ...success });
    const { out } = await held.repository.holdpoint(
      'jobs',
      'schedule',
      '--format',
      'dag',
      '--job',
      held.job('next'),
    );
    expect(out).toMatch(
      new RegExp(`^ *${held.job('next')} waiting_on_deps .*\\n +${held.job('hold')} running`, 'm'),
    );
  });

  test('57. the schedule hides ended jobs that block nothing, unless --all is given', async () => {
    const shown = idsOf(await schedule());
    expect(shown).not.toContain(held.job('good'));
    expect(shown).not.toContain(held.job('second'));
    expect(shown).toEqual(expect.arrayContaining([held.job('bad'), held.job('after_bad'), held.job('hold')]));
    expect(idsOf(await schedule('--all'))).toEqual(
      expect.arrayContaining([held.job('good'), held.job('second')]) as unknown,
    );
  });

  test('58. the schedule is in order of submission, then id', async () => {
    const { ordering, jobs } = await schedule('--all');
    expect(ordering).toBe('created_at_then_job_id');
    expect(jobs.map(({ order }) => order)).toEqual(jobs.map((_, i) => i + 1));
    const nodes = Object.keys(HELD).toSorted();
    expect(jobs.map(({ job_id: id }) => id)).toEqual(
      [held.run, later, apart].flatMap((run) => nodes.map((node) => `${run}/${node}`)),
    );
  });

  test('59. --job puts that job first and hides unrelated jobs', async () => {
    const shown = idsOf(await schedule('--job', held.job('next')));
    expect(shown[0]).toBe(held.job('next'));
    expect(shown).toEqual(expect.arrayContaining([held.job('hold'), `${later}/good`]));
    expect(shown).not.toContain(held.job('ask'));
    expect(shown.filter((id) => id.startsWith(`${apart}/`))).toEqual([]);
    const unknown = await held.repository.holdpoint('jobs', 'schedule', '--job', `${held.run}/nobody`);
    expect(unknown).toMatchObject({ code: 1, out: '' });
    expect(unknown.err).toContain('ORCHESTRATOR_UNKNOWN_NODE');
  });

  test('60. --max-depth limits the distance from the job', async () => {
    const at = async (depth: number) =>
      new Set(idsOf(await schedule('--all', '--job', held.job('next'), '--max-depth', String(depth))));
    expect(await at(0)).toEqual(new Set([held.job('next')]));
    const entries = ['good', 'second', 'taker', 'ask', 'bad'].map((node) => `${later}/${node}`);
    expect(await at(1)).toEqual(new Set([held.job('next'), held.job('hold'), ...entries]));
    const two = await at(2);
    expect(two).toContain(held.job('good'));
    expect(two).toContain(held.job('taker'));
    expect(two).toContain(`${later}/hold`);
  });

  test('the summary has at most the requested rows, and counts the hidden ones', async () => {
    const { out } = await held.repository.holdpoint('jobs', 'schedule', '--top', '2');
    expect(out).toMatch(
      /^# +Slug +Name +Status +Wait +Job\n1 .*\n2 .*\nand \d+ more \(--top shows more\)\n$/,
    );
  });
});
