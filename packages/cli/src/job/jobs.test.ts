import { digestOf } from '@holdpoint/contracts/values/json';
import { ApprovalId, NodeId } from '@holdpoint/contracts/values/ids';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { TaskView } from '@holdpoint/contracts/task/views';
import { describe, expect, test } from 'vitest';
import { nodeView, runView } from '../../testing/runs.ts';
import { type Answers, NOW, typeLine } from '../../testing/terminal.ts';

const EARLIER = NOW - 60_000;

const build = runView('t-new', [
  nodeView('prepare', 'succeeded', { produces: ['custom:token:x'] }),
  nodeView('build', 'running', { after: ['prepare'], locks: ['repo'], exitCode: 0 }),
  nodeView('deploy', 'waiting_on_approval', {
    after: ['build'],
    gated: true,
    approval: 'a-1',
    wait: { kind: 'approval', detail: 'a person has needed a-1' },
  }),
  nodeView('test', 'failed', { after: ['build'], error: { code: 'NODE_FAILED', message: 'exit 3' } }),
  nodeView('report', 'blocked_by_dependency', {
    after: ['test'],
    needs: ['custom:token:x', 'custom:gone:y'],
  }),
]);
const old = runView(
  't-old',
  [nodeView('only', 'waiting_on_deps', { wait: { kind: 'dependencies', detail: 't-new/build' } })],
  { after: ['t-new/build'] },
);
const summary = ({ id, workflow, phase }: TaskView, createdAt: number) => ({
  id,
  workflow,
  goal: 'g',
  phase,
  version: 1,
  createdAt,
});

const effect = {
  uses: 'cap.env.shell.command.run',
  kind: 'deploy',
  target: 'staging',
  args: {},
  effectClass: 'opaque',
  idempotencyKey: 'k',
};
const approval = {
  id: 'a-1',
  task: 't-new',
  node: 'deploy',
  revision: 1,
  effectId: 'e-1',
  digest: digestOf(effect),
  title: 'deploy',
  requestedBy: 'orchestrator',
  audience: ['operators'],
  timeoutMs: 60_000,
  effect,
  status: 'pending',
  requestedAt: EARLIER,
  expiresAt: NOW + 60_000,
};

const history = [
  { version: 1, at: EARLIER, type: 'submitted', data: {} },
  {
    version: 2,
    at: EARLIER + 1_000,
    type: 'node_waiting',
    data: {
      type: 'node_waiting',
      id: 't-new',
      phase: 'executing',
      node: 'build',
      attempt: 1,
      wait: { kind: 'locks', detail: 'repo' },
    },
  },
  { version: 3, at: EARLIER + 2_000, type: 'node_started', data: { node: 'build', attempt: 1 } },
];

const unknown = new HoldpointError('ORCHESTRATOR_UNKNOWN_TASK', 'there is no such task');
const services: Answers = {
  'orchestrator.list': { items: [summary(build, NOW), summary(old, EARLIER)] },
  'orchestrator.get': ({ id }: { id: string }) => [build, old].find((run) => run.id === id) ?? unknown,
  'orchestrator.history': { events: history },
  'approvals.get': approval,
  'approvals.decide': { id: 'a-1', status: 'approved', by: 'ada' },
};

const jobs = (line: string, answers: Answers = {}) =>
  typeLine(['jobs', ...line.split(' ').map((word) => word.replaceAll('_', ' '))], {
    ...services,
    ...answers,
  });
const parsed = async (line: string, answers: Answers = {}) =>
  JSON.parse((await jobs(line, answers)).out) as Record<string, unknown>;

describe('jobs list', () => {
  const ids = async (line: string) =>
    ((await parsed(`${line} --format json`))['jobs'] as { job: string }[]).map(({ job }) => job);

  test('jobs list hides succeeded jobs and counts them, newest task first', async () => {
    expect(await ids('list')).toEqual([
      't-new/build',
      't-new/deploy',
      't-new/test',
      't-new/report',
      't-old/only',
    ]);
    expect((await parsed('list --format json'))['header']).toEqual({ outcome: '5 jobs', hidden: '1' });
    expect(await ids('list --all')).toHaveLength(6);
    expect(await ids('list --dismiss-failures')).toEqual(['t-new/build', 't-new/deploy', 't-old/only']);
    expect(await ids('list --all --dismiss-failures')).toHaveLength(6);
    expect(await ids('list --run t-old')).toEqual(['t-old/only']);
  });

  test('jobs of ended tasks are listed and scheduled only with --all, or for their task', async () => {
    const gone = runView(
      't-gone',
      [
        nodeView('ask', 'blocked_by_approval', { gated: true, approval: 'a-9' }),
        nodeView('then', 'blocked_by_dependency', { after: ['ask'] }),
        nodeView('other', 'failed'),
      ],
      {
        phase: 'failed',
        latestApproval: {
          id: ApprovalId.parse('a-9'),
          node: NodeId.parse('ask'),
          attempt: 1,
          status: 'expired',
        },
      },
    );
    const answers: Answers = {
      'orchestrator.list': { items: [summary(gone, NOW), summary(old, EARLIER)] },
      'orchestrator.get': ({ id }: { id: string }) => (id === 't-gone' ? gone : old),
    };
    const listed = (line: string) => parsed(`${line} --format json`, answers);
    expect(await listed('list')).toMatchObject({
      header: { outcome: '1 job', hidden: '3' },
      jobs: [{ job: 't-old/only' }],
    });
    expect((await listed('list --all'))['jobs']).toHaveLength(4);
    expect((await listed('list --run t-gone'))['jobs']).toMatchObject([
      { job: 't-gone/ask', approval_state: 'expired' },
      { job: 't-gone/then' },
      { job: 't-gone/other' },
    ]);
    expect((await listed('schedule'))['jobs']).toMatchObject([{ job_id: 't-old/only' }]);
    expect((await listed('schedule --all'))['jobs']).toHaveLength(4);
  });

  test('every job has the same keys with text values', async () => {
    const [first] = (await parsed('list --format json'))['jobs'] as Record<string, unknown>[];
    expect(first).toEqual({
      job: 't-new/build',
      status: 'running',
      created: '2026-01-15 09:31:00Z',
      after: 't-new/prepare',
      dependencies: '',
      locks: 'repo',
      wait: '',
      waited_on: '',
      approval_required: 'false',
      approval_state: '',
      approval_decided_by: '',
      pinned_head: '',
      artifacts: '',
      failed: '',
      command: 'cap.env.shell.command.run',
    });
  });

  test('jobs list prints a table or blocks', async () => {
    expect((await jobs('list --format table')).out).toMatch(
      /^t-new\/test +failed +.* NODE_FAILED: exit 3 +cap\./m,
    );
    expect((await jobs('list')).out).toMatch(/^Job +Status /m);
    expect((await jobs('list --format block')).out).toMatch(/^status +waiting_on_approval$/m);
    expect((await jobs('list', { 'orchestrator.list': { items: [] } })).out).toBe('no jobs\n');
  });

  test('a table fits the terminal', async () => {
    const terminal = { columns: 40, ansi: true, colour: false, ask: async () => undefined };
    const { out } = await typeLine(['jobs', 'list'], services, { terminal });
    expect(out).toMatch(/^Job +Status/m);
    const [, ...rows] = out.trimEnd().split('\n');
    expect(Math.max(...rows.map((row) => row.length))).toBe(40);
    const schedule = await typeLine(['jobs', 'schedule'], services, { terminal });
    expect(Math.max(...schedule.out.split('\n').map((row) => row.length))).toBe(40);
  });

  test('a task that cannot be loaded is named, and the others are listed', async () => {
    const gone = { ...summary(old, 1), id: 't-gone' };
    const { out, err, code } = await jobs('list --format json', {
      'orchestrator.list': { items: [gone, summary(old, 1)] },
    });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ jobs: [{ job: 't-old/only' }] });
    expect(err).toContain('task t-gone left out: ORCHESTRATOR_UNKNOWN_TASK');
  });

  test('--raw prints typed fields, and needs JSON', async () => {
    expect(await parsed('list --raw --format json')).toMatchObject({
      version: 1,
      generated_at: '2026-01-15T09:31:00.000Z',
      jobs: [
        { job_id: 't-new/build', wait: null, workflow: { run_id: 't-new', template_id: 'template.demo' } },
        { wait: { kind: 'approval', detail: 'a person has needed a-1' }, waited_on: ['approval'] },
        {},
        {},
        { job_id: 't-old/only', schedule: { after: ['t-new/build'] } },
      ],
    });
    expect((await jobs('list --raw')).code).toBe(2);
  });

  test('colours are used only on a colour terminal', async () => {
    const terminal = { columns: 80, ansi: true, colour: true, ask: async () => undefined };
    const onTerminal = (line: string) => typeLine(line.split(' '), services, { terminal });
    expect((await onTerminal('jobs list')).out).toContain('\u001b[31mfailed\u001b[39m');
    expect((await onTerminal('--no-ansi jobs list')).out).not.toContain('\u001b');
    expect((await onTerminal('jobs list --no-ansi')).out).not.toContain('\u001b');
    expect((await jobs('list --format table')).out).not.toContain('\u001b');
  });
});

describe('untrusted text in jobs is escaped', () => {
  const nasty = '\u001b[2J\u202e\r\n';
  const error = { code: nasty, message: nasty };
  const node = nodeView('n', 'failed', {
    status: nasty,
    name: nasty,
    reason: nasty,
    detail: nasty,
    uses: nasty,
    error,
    wait: { kind: 'locks', detail: nasty },
    needs: [nasty],
    produces: [nasty],
    locks: [nasty],
    outputs: { [nasty]: nasty },
    context: { branch: nasty, worktree: nasty, slug: nasty },
  });
  const run = runView('t-1', [node, nodeView('m', 'blocked_by_dependency', { after: ['n'] })], {
    workflow: nasty,
    selector: nasty,
    repository: nasty,
  });
  const answers: Answers = {
    'orchestrator.list': { items: [summary(run, NOW)] },
    'orchestrator.get': run,
    'orchestrator.history': { events: [] },
  };
  const colours = { columns: 80, ansi: true, colour: true, ask: async () => undefined };

  test.each([
    'list --format table',
    'list --format block',
    'list --format json',
    'list --format json --raw',
    'show t-1/n',
    'show t-1/n --format json',
    'show t-1/n --format json --raw',
    'status t-1/n',
    'schedule --all',
    'schedule --all --format dag',
    'schedule --all --format json',
    'schedule --all --format json --raw',
    'approve t-1/n',
    'cancel t-1/n',
  ])('jobs %s escapes untrusted text', async (line) => {
    const words = ['jobs', ...line.split(' ')];
    const plain = await typeLine(words, answers);
    expect(plain.out + plain.err).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
    const coloured = await typeLine(words, answers, { terminal: colours });
    const [first = '', ...sequences] = (coloured.out + coloured.err).split('\u001b');
    const left = [first, ...sequences.map((text) => text.replace(/^\[\d{1,2}m/, ''))].join('');
    expect(sequences.filter((text) => !/^\[\d{1,2}m/.test(text))).toEqual([]);
    expect(left).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
  });
});

describe('jobs show and status', () => {
  test('jobs show prints one flat object of text', async () => {
    expect(await parsed('show t-new/build --format json')).toMatchObject({
      job: 't-new/build',
      status: 'running',
      waited_on: 'locks',
      started: '2026-01-15 09:30:02Z',
      exit_code: '0',
      workflow_run: 't-new',
      workflow_template: 'template.demo',
      workflow_template_version: 'v1',
      workflow_node: 'build',
      workflow_node_attempt: '1',
      execution_root: '/repo',
    });
    expect(await parsed('show t-new/deploy --format json')).toMatchObject({
      approval: 'a-1',
      approval_state: 'pending',
      approval_requested_by: 'orchestrator',
    });
  });

  test('jobs show omits empty fields, and takes a whole task', async () => {
    const shown = await parsed('show t-new/build --format json');
    expect(Object.values(shown)).not.toContain('');
    expect((await parsed('show --run t-new --format json'))['jobs']).toHaveLength(5);
    expect(await parsed('show t-new/build --format json --raw')).toMatchObject({
      version: 1,
      job: { job_id: 't-new/build', waited_on: ['locks'] },
    });
  });

  test('a decided approval still counts as a wait, and a failure has its reason', async () => {
    const run = runView('t-new', [
      nodeView('gate', 'blocked_by_approval', { gated: true }),
      nodeView('build', 'failed', { reason: 'exit code 3' }),
    ]);
    const requested = {
      type: 'approval_requested',
      id: 't-new',
      phase: 'executing',
      node: 'gate',
      attempt: 1,
      revision: 1,
      approval: 'a-1',
      effectId: 'e-1',
      effect: { ...approval.effect, task: 't-new', node: 'gate' },
      digest: approval.digest,
    };
    const answers = {
      'orchestrator.get': run,
      'orchestrator.history': {
        events: [...history, { version: 4, at: NOW, type: requested.type, data: requested }],
      },
    };
    expect(await parsed('show t-new/gate --format json', answers)).toMatchObject({ waited_on: 'approval' });
    expect(await parsed('show t-new/build --format json', answers)).toMatchObject({ failed: 'exit code 3' });
  });

  test('status is one line', async () => {
    const log = 'HP_LOG:hp.log.t-new.build';
    expect((await jobs('status t-new/build')).out).toBe(
      `t-new/build [running] exit=0 stdout=${log} stderr=${log}\n`,
    );
    expect(await parsed('status t-new/build --format json')).toEqual({
      job: 't-new/build',
      status: 'running',
      exit_code: '0',
      stdout: log,
      stderr: log,
    });
  });

  test.each([
    ['show t-none/a', 1, 'ORCHESTRATOR_UNKNOWN_TASK'],
    ['status t-new/none', 1, 'ORCHESTRATOR_UNKNOWN_NODE: no job t-new/none'],
    ['show', 2, 'name a <task>'],
    ['show t-new/build --node build', 2, 'unknown option'],
    ['show t-new/build --run t-new', 2, 'not both'],
    ['show a.b/c', 2, '<task>/<node>'],
  ])('jobs %s calls the API', async (line, exit, said) => {
    const { code, err } = await jobs(line);
    expect(code).toBe(exit);
    expect(err).toContain(said);
  });
});

describe('jobs schedule', () => {
  const order = async (line: string, answers: Answers = {}) =>
    ((await parsed(`schedule --format json ${line}`.trim(), answers))['jobs'] as { job_id: string }[]).map(
      ({ job_id }) => job_id,
    );

  test('the schedule shows running and waiting jobs and the failures that block them, oldest task first', async () => {
    expect(await order('')).toEqual([
      't-old/only',
      't-new/build',
      't-new/deploy',
      't-new/report',
      't-new/test',
    ]);
    expect(await order('--all')).toHaveLength(6);
  });

  test('the schedule focuses on a job and its neighbours', async () => {
    expect(await order('--job t-new/deploy --max-depth 1')).toEqual(['t-new/deploy', 't-new/build']);
    expect(await order('--job t-new/deploy')).toEqual([
      't-new/deploy',
      't-old/only',
      't-new/build',
      't-new/report',
      't-new/test',
    ]);
  });

  test('the schedule has edges within a task, across tasks, and by artifact', async () => {
    const { version, ordering, edges } = await parsed('schedule --format json');
    expect({ version, ordering }).toEqual({ version: 1, ordering: 'created_at_then_job_id' });
    expect(edges).toEqual(
      expect.arrayContaining([
        { from: 't-new/build', to: 't-new/deploy', after: { policy: 'success' } },
        { from: 't-new/build', to: 't-old/only', after: { policy: 'success' } },
        { from: 't-new/prepare', to: 't-new/report', artifact: 'custom:token:x', state: 'present' },
        { from: '', to: 't-new/report', artifact: 'custom:gone:y', state: 'missing' },
      ]),
    );
    const raw = await parsed('schedule --format json --raw');
    expect(raw['edges']).toEqual(edges);
  });

  test('the schedule is a summary or a graph', async () => {
    expect((await jobs('schedule')).out).toMatch(
      /^1 +demo +only +waiting_on_deps +dependencies: t-new\/build +t-old\/only$/m,
    );
    expect((await jobs('schedule --top 1')).out).toContain('and 4 more');
    const byFile = { ...old, selector: 'file:flows/night.toml' };
    const { out } = await jobs('schedule', { 'orchestrator.get': byFile });
    expect(out).toMatch(/^1 +night +only/m);
    expect((await jobs('schedule --format dag')).out).toContain('<- custom:gone:y [missing]');
  });

  test.each([
    ['summary', 'no jobs scheduled'],
    ['dag', 'no jobs scheduled'],
    ['json', '{"version":1,"ordering":"created_at_then_job_id","jobs":[],"edges":[]}'],
  ])('an empty schedule prints %s', async (format, empty) => {
    const answers = { 'orchestrator.list': { items: [] } };
    const { out, code } = await jobs(`schedule --format ${format}`, answers);
    expect({ code, out }).toEqual({ code: 0, out: `${empty}\n` });
  });

  test.each([
    'schedule --top 0',
    'schedule --interval-ms 99',
    'schedule --interval-ms 3600001',
    'schedule --watch',
    'schedule --watch --format dag',
    'schedule --watch --format json',
  ])('jobs %s is refused', async (line) => {
    const { code, err, calls } = await jobs(line);
    expect({ code, calls }).toEqual({ code: 1, calls: [] });
    expect(err).toContain('error CLI_SCHEDULE_OPTIONS');
  });

  test('--watch redraws within the terminal width until a service fails', async () => {
    let looks = 0;
    const list = () => {
      looks += 1;
      return looks < 3 ? services['orchestrator.list'] : new HoldpointError('RUNTIME_UNAVAILABLE', 'away');
    };
    const terminal = { columns: 30, ansi: true, colour: false, ask: async () => undefined };
    const words = ['jobs', 'schedule', '--watch', '--interval-ms', '100'];
    const { out, code, open } = await typeLine(
      words,
      { ...services, 'orchestrator.list': list },
      { terminal },
    );
    expect({ code, open }).toEqual({ code: 1, open: 0 });
    const drawings = out.replaceAll('\u001b[K', '').replaceAll('\u001b[J', '').split('\u001b[H').slice(1);
    expect(drawings).toHaveLength(2);
    expect(drawings[0]).toBe(drawings[1]);
    const widths = drawings.flatMap((drawing) => drawing.split('\n').map((line) => line.length));
    expect(Math.max(...widths)).toBe(30);
  });

  test('--watch needs escape sequences', async () => {
    const terminal = { columns: 80, ansi: true, colour: true, ask: async () => undefined };
    const { code, err } = await typeLine(['--no-ansi', 'jobs', 'schedule', '--watch'], services, {
      terminal,
    });
    expect(code).toBe(1);
    expect(err).toContain('--no-ansi');
  });
});

describe('jobs approve and reject', () => {
  /** The run shows the decision when it is read again. */
  const deciding = (job: 'running' | 'blocked_by_approval'): Answers => {
    let decided = false;
    const after = {
      ...build,
      nodes: build.nodes.map((node) => (node.id === 'deploy' ? { ...node, job } : node)),
    };
    return {
      'orchestrator.get': () => (decided ? after : build),
      'approvals.decide': () => {
        decided = true;
        return { id: 'a-1', status: 'approved', by: 'ada' };
      },
    };
  };
  const decisionIn = (calls: readonly (readonly [string, unknown])[]) =>
    calls.find(([name]) => name === 'approvals.decide')?.[1];

  test('jobs approve decides exactly the pending request of the job', async () => {
    const approved = await jobs(
      'approve t-new/deploy --reason looks_right --format json',
      deciding('running'),
    );
    expect(decisionIn(approved.calls)).toEqual({
      id: 'a-1',
      decision: 'approve',
      digest: approval.digest,
      comment: 'looks right',
    });
    expect(JSON.parse(approved.out)).toEqual({
      outcome: 'job_approved',
      job: 't-new/deploy',
      status: 'running',
      approval_state: 'approved',
      started: ['t-new/deploy'],
      updated: ['t-new/deploy'],
    });
    const rejected = await jobs(
      'reject t-new/deploy --reason no --format json',
      deciding('blocked_by_approval'),
    );
    expect(decisionIn(rejected.calls)).toMatchObject({ decision: 'reject', comment: 'no' });
    expect(JSON.parse(rejected.out)).toEqual({
      outcome: 'job_rejected',
      job: 't-new/deploy',
      status: 'blocked_by_approval',
      approval_state: 'rejected',
      reason: 'no',
    });
  });

  test('--run decides every pending request of the task', async () => {
    const { out, calls } = await jobs('approve --run t-new', deciding('running'));
    expect(calls.filter(([name]) => name === 'approvals.decide')).toHaveLength(1);
    expect(out).toBe(
      't-new/deploy: approved by ada, the job is running\n  cap.env.shell.command.run (deploy) on staging\n',
    );
  });

  test.each([
    ['approve t-new/build', 't-new/build is running'],
    ['reject t-old/only', 'waiting for dependencies: t-new/build'],
    ['approve --run t-old', 'no job of task t-old waits for an approval'],
  ])('jobs %s reports what the job does instead', async (line, said) => {
    const { code, err, calls } = await jobs(line);
    expect(code).toBe(1);
    expect(err).toContain('error CLI_NOTHING_TO_DECIDE');
    expect(err).toContain(said);
    expect(decisionIn(calls)).toBeUndefined();
  });
});

describe('jobs are steered', () => {
  const ack = { id: 't-new', phase: 'executing', version: 9 };
  const steering: Answers = Object.fromEntries(
    ['cancel', 'pause', 'resume', 'skip', 'retry'].map((verb) => [`orchestrator.${verb}`, ack]),
  );

  test.each([
    ['cancel t-new/build', 'orchestrator.cancel', { id: 't-new', node: 'build' }],
    ['cancel t-new/build --no-cleanup-worktree', 'orchestrator.cancel', { id: 't-new', node: 'build' }],
    ['cancel --run t-new --reason why', 'orchestrator.cancel', { id: 't-new', reason: 'why' }],
    ['pause t-new/build', 'orchestrator.pause', { id: 't-new', node: 'build' }],
    ['pause --run t-new', 'orchestrator.pause', { id: 't-new' }],
    ['resume t-new/build', 'orchestrator.resume', { id: 't-new', node: 'build' }],
    ['skip t-new/deploy', 'orchestrator.skip', { id: 't-new', node: 'deploy' }],
    ['retry t-new/test', 'orchestrator.retry', { id: 't-new', node: 'test', rewind: true }],
    ['retry --run t-new', 'orchestrator.retry', { id: 't-new', rewind: true }],
  ])('jobs %s calls the API', async (line, endpoint, payload) => {
    const { calls, code, err } = await jobs(line, steering);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(calls).toContainEqual([endpoint, payload]);
  });

  test('a cancelled job keeps its worktree, and says so', async () => {
    expect((await jobs('cancel t-new/build', steering)).out).toBe(
      't-new/build: cancelled, worktree kept, the task is executing\n',
    );
    const { code, err, calls } = await jobs('cancel t-new/build --cleanup-worktree', steering);
    expect({ code, calls }).toEqual({ code: 1, calls: [] });
    expect(err).toContain('git worktree remove');
  });

  test('an ended job cannot be cancelled', async () => {
    const { code, err, calls } = await jobs('cancel t-new/test', steering);
    expect(code).toBe(1);
    expect(err).toContain('error CLI_NOT_ACTIVE: t-new/test is failed');
    expect(calls.map(([name]) => name)).toEqual(['orchestrator.get']);
  });

  test('a retry of a task with an escalated job restarts nothing else', async () => {
    const stuck = runView('t-new', [nodeView('test', 'failed'), nodeView('deploy', 'escalated')]);
    const { calls } = await jobs('retry --run t-new', { ...steering, 'orchestrator.get': stuck });
    expect(calls).toContainEqual(['orchestrator.retry', { id: 't-new' }]);
  });

  test('a retry lists the restarted jobs', async () => {
    const nodes = ['test', 'report'];
    const restarted = {
      type: 'restarted',
      id: 't-new',
      phase: 'executing',
      node: 'test',
      nodes,
      by: 'operator',
    };
    let retried = false;
    const after = {
      ...build,
      nodes: build.nodes.map((node) => (node.id === 'test' ? { ...node, job: 'running' as const } : node)),
    };
    const done = await parsed('retry t-new/test --format json', {
      'orchestrator.get': () => (retried ? after : build),
      'orchestrator.retry': () => {
        retried = true;
        return ack;
      },
      'orchestrator.history': {
        events: [...history, { version: 4, at: NOW, type: 'restarted', data: restarted }],
      },
    });
    expect(done).toEqual({
      outcome: 'job_retried',
      requested_job: 't-new/test',
      retry_root: 't-new/test',
      last_successful_point: [],
      retry_set: ['t-new/test', 't-new/report'],
      reset: ['t-new/test', 't-new/report'],
      restarted: ['t-new/test'],
      updated: ['t-new/test', 't-new/report'],
    });
  });
});

describe('a stuck job', () => {
  const verdict = {
    kind: 'skip',
    delayMs: 0,
    class: 'VERIFICATION_FAILED',
    rule: 'verdicts@3/verification-again',
    reason: 'the check failed as often as the limit allows',
    classification: { rule: 'classes@2/vitest', evidence: '3 failed' },
  } as const;
  const stuck = runView('t-new', [nodeView('test', 'escalated', { attempt: 3, session: 2, verdict })], {
    phase: 'recovering',
    spent: { inputTokens: 100, outputTokens: 50, costUsd: 0.5, durationMs: 90_000 },
    budget: { tokens: 200_000, workMs: 1_800_000 },
  });
  const answers: Answers = {
    'orchestrator.get': stuck,
    'orchestrator.list': { items: [summary(stuck, NOW)] },
  };

  test('jobs show prints the verdict and the next command for a stuck job', async () => {
    expect(await parsed('show t-new/test --format json', answers)).toMatchObject({
      status: 'escalated',
      wait: 'operator: VERIFICATION_FAILED: the check failed as often as the limit allows',
      session: '2',
      verdict:
        'skip: VERIFICATION_FAILED: the check failed as often as the limit allows (verdicts@3/verification-again)',
      because: 'classes@2/vitest: 3 failed',
      next: 'holdpoint recovery report t-new/test, then holdpoint recovery resolve t-new/test retry|skip|done|cancel',
      spent: '150 of 200,000 tokens, $0.50, 1 min of 30 min of work',
    });
  });

  test('the schedule prints the next command for a stuck job', async () => {
    const { out } = await jobs('schedule', answers);
    expect(out).toMatch(/^1 .* escalated +operator: VERIFICATION_FAILED: the check .* t-new\/test$/m);
    expect(out).toMatch(/^t-new\/test is stuck: holdpoint recovery report t-new\/test, then /m);
  });

  test('--raw has the typed verdict of a stuck job', async () => {
    const { job } = await parsed('show t-new/test --format json --raw', answers);
    expect(job).toMatchObject({ recovery: { stuck: true, verdict, session: 2, circuit: null } });
  });
});

test('a job of a task that waits for a circuit shows the circuit', async () => {
  const held = runView('t-new', [nodeView('test', 'queued'), nodeView('done', 'succeeded')], {
    phase: 'circuit_open',
    circuit: 'workflow:demo',
  });
  const { jobs: listed } = await parsed('list --all --format json', {
    'orchestrator.get': held,
    'orchestrator.list': { items: [summary(held, NOW)] },
  });
  expect(listed).toMatchObject([{ wait: 'circuit: workflow:demo' }, { wait: '' }]);
});
