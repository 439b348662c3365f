import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Held, HELD, json, startHeld } from './support/held.ts';
import { enqueue } from './support/runs.ts';
import { startStack, type Stack } from './support/stack.ts';

let stack: Stack;
let held: Held;
beforeAll(async () => {
  stack = await startStack();
  held = await startHeld(stack);
});
afterAll(async () => {
  await stack.stop();
});

type Raw = {
  readonly job_id: string;
  readonly status: string;
  readonly wait: { readonly kind: string; readonly detail: string } | null;
  readonly waited_on: readonly string[];
  readonly schedule: Readonly<Record<string, unknown>>;
};
type Envelope = { readonly version: number; readonly generated_at: string };
type Row = Readonly<Record<string, string>>;
type List = { readonly header: Row; readonly jobs: readonly Row[] };

const list = (...words: readonly string[]) => json<List>(held.repository, 'jobs', 'list', ...words);
const idsOf = ({ jobs }: List) => jobs.map(({ job }) => job);

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('43. --raw prints typed fields', () => {
  test('43. --raw in a list', async () => {
    const raw = await json<Envelope & { readonly jobs: readonly Raw[] }>(
      held.repository,
      'jobs',
      'list',
      '--all',
      '--raw',
    );
    expect(raw).toMatchObject({ version: 1, generated_at: expect.stringMatching(TIME) as unknown });
    expect(Object.fromEntries(raw.jobs.map(({ job_id: id, status }) => [id, status]))).toEqual(
      Object.fromEntries(Object.entries(HELD).map(([node, status]) => [`${held.run}/${node}`, status])),
    );
    const of = (node: string) => raw.jobs.find(({ job_id: id }) => id === `${held.run}/${node}`);
    expect(of('hold')).toMatchObject({
      wait: null,
      schedule: { after: [held.job('good')], locks: expect.arrayContaining(['lane (exclusive)']) as unknown },
      workflow: {
        run_id: held.run,
        node_id: 'hold',
        node_name: 'Hold on',
        node_attempt: 1,
        uses: 'cap.env.shell.command.run',
        template_id: 'template.held',
        template_version: 'v1',
      },
      context: { repository: held.repository.root },
    });
    expect(of('ask')).toMatchObject({
      wait: { kind: 'approval', detail: expect.any(String) as unknown },
      waited_on: ['approval'],
      schedule: { approval: { required: true, id: expect.any(String) as unknown } },
    });
    expect(of('bad')).toMatchObject({ exit_code: 3 });
  });

  test('43. --raw for one job', async () => {
    expect(await json(held.repository, 'jobs', 'show', held.job('seconded'), '--raw')).toMatchObject({
      version: 1,
      generated_at: expect.stringMatching(TIME) as unknown,
      job: {
        job_id: held.job('seconded'),
        wait: { kind: 'locks' },
        waited_on: expect.arrayContaining(['locks']) as unknown,
      },
    });
  });

  test('43. --raw in a schedule, with the same edges as without it', async () => {
    type Schedule = {
      readonly version: number;
      readonly ordering: string;
      readonly edges: readonly unknown[];
    };
    const raw = await json<Schedule>(held.repository, 'jobs', 'schedule', '--raw');
    const plain = await json<Schedule>(held.repository, 'jobs', 'schedule');
    expect(raw).toMatchObject({ version: 1, ordering: 'created_at_then_job_id' });
    expect(raw.edges).toEqual(plain.edges);
    expect(raw.edges.length).toBeGreaterThan(0);
  });
});

test('44. --raw without JSON is refused', async () => {
  for (const words of [['list'], ['show', held.job('bad')], ['schedule']]) {
    const { code, out, err } = await held.repository.holdpoint('jobs', ...words, '--raw');
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain('--raw needs --json');
  }
});

test('45. status is one line, or JSON; an unknown job is an error', async () => {
  const { holdpoint } = held.repository;
  const log = `HP_LOG:hp.log.${held.run}.bad`;
  expect(await holdpoint('jobs', 'status', held.job('bad'))).toEqual({
    code: 0,
    out: `${held.job('bad')} [failed] exit=3 stdout=${log} stderr=${log}\n`,
    err: '',
  });
  expect(await json(held.repository, 'jobs', 'status', held.job('ask'))).toMatchObject({
    job: held.job('ask'),
    status: 'waiting_on_approval',
    exit_code: '',
  });
  const unknown = await holdpoint('jobs', 'status', `${held.run}/nobody`);
  expect(unknown).toMatchObject({ code: 1, out: '' });
  expect(unknown.err).toContain('ORCHESTRATOR_UNKNOWN_NODE');
  expect((await holdpoint('jobs', 'status', 't-nobody/x')).err).toContain('ORCHESTRATOR_UNKNOWN_TASK');
});

describe('lists of jobs', () => {
  const ended = (words: readonly string[]) =>
    Object.entries(HELD).filter(([, status]) => words.includes(status));
  const SUCCEEDED = ended(['succeeded']).length;
  const ALL = Object.keys(HELD).length;
  const FAILURES = ended(['failed', 'blocked_by_dependency']).length;

  test('52. lists hide succeeded jobs, and failed ones on request; --all shows all jobs; hidden jobs are counted', async () => {
    const plain = await list();
    expect(plain.header).toEqual({ outcome: `${String(ALL - SUCCEEDED)} jobs`, hidden: String(SUCCEEDED) });
    expect(idsOf(plain)).not.toContain(held.job('good'));
    expect(idsOf(plain)).toContain(held.job('bad'));
    const dismissed = await list('--dismiss-failures');
    expect(dismissed.header).toMatchObject({ hidden: String(SUCCEEDED + FAILURES) });
    expect(idsOf(dismissed)).not.toContain(held.job('bad'));
    const all = await list('--all', '--dismiss-failures');
    expect(all.header).toEqual({ outcome: `${String(ALL)} jobs` });
    expect(idsOf(all)).toHaveLength(ALL);
  });

  test("62. lists have a fixed set of text fields, and another set if the repository's configuration names one", async () => {
    const { jobs } = await list();
    for (const row of jobs) {
      expect(Object.keys(row)).toEqual(FIELDS);
      expect(new Set(Object.values(row).map((value) => typeof value))).toEqual(new Set(['string']));
    }
    const shown = await json<Row>(held.repository, 'jobs', 'show', held.job('bad'));
    expect(shown).toMatchObject({
      job: held.job('bad'),
      status: 'failed',
      exit_code: '3',
      workflow_run: held.run,
      workflow_node: 'bad',
      workflow_node_attempt: '1',
      workflow_template: 'template.held',
      workflow_executor_operation: 'cap.env.shell.command.run',
      failed: expect.stringContaining('exit code 3') as unknown,
    });
    expect(shown).not.toHaveProperty('wait');

    held.repository.write('.holdpoint/config.toml', DISPLAY);
    const chosen = await list();
    expect(chosen.jobs.map((row) => Object.keys(row))).toEqual(chosen.jobs.map(() => ['status', 'job']));
    expect(await json(held.repository, 'jobs', 'show', held.job('bad'))).toEqual({
      job: held.job('bad'),
      exit_code: '3',
    });
    held.repository.write('.holdpoint/config.toml', '');
  });

  test('63. lists name the reason why each job waits, and its blockers', async () => {
    const rows = new Map((await list('--all')).jobs.map((row) => [row['job'], row]));
    const of = (node: keyof typeof HELD) => rows.get(held.job(node));
    for (const [node, status] of Object.entries(HELD))
      expect(rows.get(`${held.run}/${node}`), node).toMatchObject({ status });
    expect(of('next')).toMatchObject({ wait: `dependencies: waiting on job ${held.job('hold')}` });
    expect(of('seconded')).toMatchObject({
      wait: `locks: waiting for ${held.job('hold')}`,
      waited_on: 'locks',
    });
    expect(of('taker')).toMatchObject({
      wait: expect.stringContaining('artifacts: waiting on custom:thing:held') as unknown,
    });
    expect(of('ask')).toMatchObject({
      waited_on: 'approval',
      approval_required: 'true',
      approval_state: 'pending',
    });
    expect(of('after_bad')).toMatchObject({ after: held.job('bad'), wait: '' });
  });

  test('61. lists are tables with the newest run first', async () => {
    const { run_id: run } = await enqueue(
      held.repository,
      '.holdpoint/workflows/held.toml',
      '--after',
      held.job('next'),
    );
    const { code, out } = await held.repository.holdpoint('jobs', 'list', '--format', 'table');
    expect(code).toBe(0);
    const [headline = '', header = '', ...rows] = out.trimEnd().split('\n');
    expect(headline).toMatch(/^\d+ jobs, \d+ jobs hidden \(--all shows them\)$/);
    expect(header).toMatch(/^Job +Status +Created +Wait +Failed +Uses$/);
    const runs = rows.map((row) => row.split('/')[0]);
    expect([...new Set(runs)]).toEqual([run, held.run]);
    // The columns are aligned.
    const at = header.indexOf('Status');
    for (const row of rows) expect(row.slice(at - 2, at + 1)).toMatch(/^ {2}\S$/);
  });
});

const FIELDS = [
  'job',
  'status',
  'created',
  'after',
  'dependencies',
  'locks',
  'wait',
  'waited_on',
  'approval_required',
  'approval_state',
  'approval_decided_by',
  'pinned_head',
  'artifacts',
  'failed',
  'command',
];

const DISPLAY = `
[display.lists.jobs]
fields = ["Status", "Job"]

[display.lists.jobs_show]
fields = ["Job", "Exit code"]
`;
