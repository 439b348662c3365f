import type { RunEvidence, StoredAggregate, StoredEvent, TaskEvidence } from '../evidence/evidence.ts';
import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import type { Operation } from '../history.ts';
import { graphOf, type GraphPlan } from '../workload/graph.ts';
import type { WorkLine } from '../workload/script-log.ts';

/** A task that was submitted, approved, executed once and completed. */

export const TASK = 'torture-x-0';
export const APPROVAL = 'a-0000000000';
export const EFFECT = 'e-0000000000000000';
const SENT = 'c'.repeat(64);
const SUBMISSION = { id: TASK, workflow: 'http', goal: 'count once', inputs: { keyed: true } } as const;

export const grantFor = (claims: object): string =>
  `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`;

const event = (version: number, at: number, data: Record<string, unknown>): StoredEvent => ({
  version,
  at,
  type: String(data['type']),
  data,
});
const stored = (id: string, status: string, events: readonly StoredEvent[]): StoredAggregate => ({
  id,
  head: { version: events.length, status },
  events,
});

const effect = {
  task: TASK,
  node: 'request',
  uses: 'cap.http.keyed_request',
  args: {},
  kind: 'write_external',
  effectClass: 'keyed',
  target: 'http://target',
  idempotencyKey: 'request',
};
const DIGEST = effectDigest(effect as Parameters<typeof effectDigest>[0]);
const GRANT = grantFor({ jti: APPROVAL, sub: EFFECT, digest: DIGEST });
export const ORDER = { id: EFFECT, attempt: 1, effect, digest: DIGEST, grant: GRANT };
const node = (id: string, uses: string) => ({ id, uses, after: [], args: {} });

const taskEvents = (): readonly StoredEvent[] => {
  const about = { id: TASK, node: 'request', attempt: 1 };
  return [
    event(1, 100, {
      type: 'submitted',
      id: TASK,
      phase: 'queued',
      goal: SUBMISSION.goal,
      acceptanceCriteria: [],
      inputs: SUBMISSION.inputs,
      requestedBy: 'client',
      definition: {
        id: 'http',
        version: '1',
        nodes: [node('request', 'cap.http.keyed_request'), node('done', 'control.terminal')],
      },
      contentDigest: DIGEST,
    }),
    event(2, 100, { type: 'ready', id: TASK, phase: 'execution_ready' }),
    event(3, 100, {
      type: 'approval_requested',
      ...about,
      phase: 'awaiting_approval',
      revision: 1,
      approval: APPROVAL,
      effectId: EFFECT,
      effect,
      digest: DIGEST,
    }),
    event(4, 300, {
      type: 'effect_ordered',
      ...about,
      phase: 'executing',
      effectId: EFFECT,
      approval: APPROVAL,
      grant: GRANT,
      validUntil: 9_000,
      granted: { by: 'operator' },
    }),
    event(5, 500, { type: 'node_succeeded', ...about, phase: 'executing', outputs: {} }),
    event(6, 500, { type: 'completed', id: TASK, phase: 'completed', outputs: {} }),
  ];
};

export const approvalEvents = (): readonly StoredEvent[] => [
  event(1, 150, {
    type: 'requested',
    id: APPROVAL,
    digest: DIGEST,
    requestedBy: 'client',
    expiresAt: 1_000,
  }),
  event(2, 250, { type: 'resolved', id: APPROVAL, outcome: 'approved', by: 'operator', at: 250 }),
];

export const effectEvents = (): readonly StoredEvent[] => [
  event(1, 350, { type: 'started', id: EFFECT, attempt: 1, order: ORDER, epoch: 1, worker: 'w' }),
  event(2, 450, { type: 'applied', id: EFFECT, attempt: 1, epoch: 1, outputs: {} }),
];

const operation = (
  t: number,
  call: number,
  op: string,
  type: Operation['type'],
  value: Operation['value'],
  actor = 'operator',
): Operation => ({ t, call, op, type, actor, key: TASK, ...(value !== undefined && { value }) });

export const operations = (): readonly Operation[] => [
  operation(1, 1, 'orchestrator.submit', 'invoke', { id: TASK }, 'submitter'),
  operation(
    2,
    1,
    'orchestrator.submit',
    'ok',
    { id: TASK, phase: 'awaiting_approval', version: 3 },
    'submitter',
  ),
  operation(3, 2, 'approvals.decide', 'invoke', { id: APPROVAL, decision: 'approve' }),
  operation(4, 2, 'approvals.decide', 'ok', { id: APPROVAL, status: 'approved', by: 'operator' }),
  operation(5, 3, 'orchestrator.get', 'invoke', { id: TASK }, 'watcher'),
  operation(6, 3, 'orchestrator.get', 'ok', { id: TASK, version: 6 }, 'watcher'),
  operation(7, 4, 'orchestrator.get', 'invoke', { id: TASK }, 'watcher'),
  operation(8, 4, 'orchestrator.get', 'ok', { id: TASK, version: 6 }, 'watcher'),
];

export const soundTask = (): TaskEvidence => ({
  id: TASK,
  meant: { fate: 'approve', submission: SUBMISSION, effect: EFFECT, requestDigest: SENT },
  operations: operations(),
  task: stored(TASK, 'completed', taskEvents()),
  approvals: [stored(APPROVAL, 'approved', approvalEvents())],
  effects: [stored(EFFECT, 'applied', effectEvents())],
  works: [],
  lines: [],
  saved: [],
  recovery: undefined,
  applications: [{ key: EFFECT, digest: SENT, at: 400 }],
  facts: [{ aggregate: 'task', id: TASK, version: 6, type: 'completed' }],
  feeds: [
    {
      task: TASK,
      connections: 2,
      after: '6',
      events: taskEvents().map(({ version, type }) => ({ version, type })),
    },
  ],
});

const PLAN: GraphPlan = { works: 1, tries: 2, routed: 'fails', lock: 'torture-1', people: 1 };
const GRAPH = graphOf(PLAN, {
  task: TASK,
  book: '/book',
  request: { url: 'http://target/x' },
  target: 'http://target',
});

const line = (what: WorkLine['what'], task: string, about: string, token: string): WorkLine => ({
  what,
  task,
  about,
  token: `${task}-${token}`,
});
/** The script log of a task, with a killed run under the lock. */
export const linesOf = (task: string): readonly WorkLine[] => [
  line('ran', task, 'work_1', '1'),
  line('begin', task, 'torture-1', '2'),
  line('begin', task, 'torture-1', '3'),
  line('ran', task, 'locked', '3'),
  line('end', task, 'torture-1', '3'),
  line('ran', task, 'try', '4'),
  line('ran', task, 'try', '5'),
  line('ran', task, 'route', '6'),
  line('ran', task, 'fallback', '7'),
];

const WORK = 'e-1111111111111111';
const work = {
  ...effect,
  node: 'work_1',
  uses: 'cap.env.shell.command.run',
  kind: 'work',
  effectClass: 'idempotent',
};

const graphEvents = (): readonly StoredEvent[] => {
  const phase = 'executing';
  const done = (name: string) => ({
    type: 'node_succeeded',
    id: TASK,
    node: name,
    attempt: 1,
    phase,
    outputs: {},
  });
  const failed = {
    type: 'node_ended',
    id: TASK,
    node: 'route',
    attempt: 1,
    phase,
    outcome: 'failed',
    error: { code: 'ORCHESTRATOR_NODE_FAILED', message: 'exit code 3' },
  };
  const [submitted, ready, asked, ordered, carriedOut, completed] = taskEvents().map(({ data }) => data);
  const events = [
    { ...submitted, inputs: {}, definition: GRAPH },
    { ...ready },
    { ...done('begin') },
    { ...done('work_1') },
    { ...done('locked') },
    { ...failed },
    { ...done('fallback') },
    { ...done('try') },
    { ...done('gate') },
    { ...asked },
    { ...ordered },
    { ...carriedOut },
    { ...done('done') },
    { ...completed, type: 'failed', phase: 'failed', error: failed.error },
  ];
  return events.map((data, i) => event(i + 1, 100 + i, data));
};

export const soundGraphTask = (): TaskEvidence => {
  const sound = soundTask();
  const submission = { ...SUBMISSION, workflow: GRAPH.id, definition: GRAPH, inputs: {} };
  return {
    ...sound,
    feeds: [],
    meant: { ...sound.meant, submission, graph: PLAN },
    task: stored(TASK, 'failed', graphEvents()),
    works: [
      stored(WORK, 'applied', [
        event(1, 110, {
          type: 'started',
          id: WORK,
          attempt: 1,
          order: { effect: work },
          epoch: 1,
          worker: 'w',
        }),
        event(2, 120, { type: 'applied', id: WORK, attempt: 1, epoch: 1, outputs: {} }),
      ]),
    ],
    lines: linesOf(TASK),
    facts: [{ aggregate: 'effect', id: WORK, version: 2, type: 'applied' }],
  };
};

export const soundRun = (): RunEvidence => ({
  services: [{ service: 'executor', outbox: 0, staleTimers: 0, timers: 0, queueBytes: 65_536 }],
  consumers: [{ name: 'executor-default', pending: 0, unacknowledged: 0 }],
  letters: [],
  attacks: [{ attacker: 'forged-seals', tried: 2, accepted: [] }],
  settledLetters: [
    {
      key: '7 100 abc',
      answers: ['drop by ada', 'drop by ada'],
      requests: ['drop by ada', 'retry by grace'],
      stated: ['drop by ada'],
    },
  ],
  ended: [{ name: 'executor-1', at: '2026-01-01T00:00:00.000Z', how: 'SIGKILL', caused: true }],
  peaks: [{ instance: 'executor-1', rssBytes: 100_000_000, openFiles: 40 }],
  searched: [{ where: 'executor-1', bytes: 1_000, found: [] }],
  secrets: 3,
  outcries: [],
  logLines: 10,
  work: [...linesOf(TASK), ...linesOf('torture-x-1')],
  audit: {
    report: {
      lines: 3,
      head: { seq: 3, hash: DIGEST },
      anchoredTo: 2,
      anchors: 1,
      problems: [],
      problemCount: 0,
    },
    untold: 0,
    toldTwice: 0,
    heard: 1,
  },
  strangeApplications: [],
  strangers: [],
  settled: { afterMs: 4_000, withinMs: 60_000, left: [] },
});

const TROUBLE: GraphPlan = { ...PLAN, trouble: { kind: 'broken', times: 1 } };
const TROUBLED = graphOf(TROUBLE, {
  task: TASK,
  book: '/book',
  request: { url: 'http://target/x' },
  target: 'http://target',
});
const COMMIT = 'b'.repeat(40);
const ROLLBACK = 't-rollback';
const phase = 'executing';
const verdict = (kind: string, failure: string, rule: string) => ({
  kind,
  delayMs: 0,
  class: failure,
  rule: `verdicts@3/${rule}`,
  reason: 'because',
});
const BACK = { ...verdict('rollback', 'BROKEN_BUILD', 'build'), commit: COMMIT };
const GIVEN_UP = verdict('skip', 'CIRCULAR_FIX', 'circle');
const error = { code: 'NODE_FAILED', message: 'exit code 2' };

/** A broken build goes back. Then the check fails until a person allows another attempt. */
const troubledEvents = (): readonly Record<string, unknown>[] => {
  const about = (name: string, attempt: number) => ({ id: TASK, node: name, attempt, phase });
  const done = (name: string, attempt: number) => ({
    type: 'node_succeeded',
    ...about(name, attempt),
    outputs: {},
  });
  const failed = (attempt: number) => ({
    type: 'node_failed',
    ...about('check', attempt),
    outcome: 'failed',
    error,
  });
  const back = { type: 'restarted', id: TASK, phase, node: 'agent', nodes: ['agent', 'commit', 'check'] };
  return [
    done('place', 1),
    done('prompt', 1),
    done('agent', 1),
    done('commit', 1),
    failed(1),
    {
      type: 'rollback_ordered',
      ...about('check', 1),
      by: ROLLBACK,
      commit: COMMIT,
      inputs: {
        task: TASK,
        node: 'check',
        attempt: 1,
        commit: COMMIT,
        place: { worktree: `.holdpoint/worktrees/${TASK}` },
      },
      verdict: BACK,
    },
    { type: 'rollback_ended', ...about('check', 1), by: ROLLBACK, outcome: 'succeeded' },
    { ...back, route: 'check', verdict: BACK },
    done('agent', 2),
    done('commit', 2),
    failed(2),
    { type: 'node_escalated', ...about('check', 2), reason: 'because', verdict: GIVEN_UP },
    { ...back, by: 'ada' },
    done('agent', 3),
    done('commit', 3),
    done('check', 3),
  ];
};

export const recoveryEvents = (): readonly StoredEvent[] => {
  const about = (attempt: number) => ({ task: TASK, node: 'check', attempt });
  return renumbered(
    [
      { type: 'assessed', ...about(1), error, verdict: BACK },
      { type: 'assessed', ...about(2), error, verdict: GIVEN_UP },
      { type: 'job_unstuck', ...about(2), resolution: 'retry', at: 1 },
      { type: 'attempt_recorded', ...about(3) },
    ].map((data) => event(0, 100, data)),
  );
};

export const soundTroubledTask = (): TaskEvidence => {
  const sound = soundGraphTask();
  const submission = { ...SUBMISSION, workflow: TROUBLED.id, definition: TROUBLED, inputs: {} };
  const [submitted, ready, begun, ...rest] = graphEvents().map(({ data }) => data);
  const all = [{ ...submitted, definition: TROUBLED }, ready, begun, ...troubledEvents(), ...rest];
  const events = all.map((data, i) => event(i + 1, 100 + i, { ...data }));
  return {
    ...sound,
    meant: { ...sound.meant, submission, graph: TROUBLE },
    task: stored(TASK, 'failed', events),
    lines: [...sound.lines, line('ran', TASK, 'agent', '8')],
    saved: [
      { name: `${TASK}/check/1/1`, commits: ['c'.repeat(40), COMMIT], files: ['left.txt', 'state.txt'] },
    ],
    recovery: stored(TASK, 'assessed', recoveryEvents()),
  };
};

export const withEvents = (
  aggregate: StoredAggregate | undefined,
  change: (events: readonly StoredEvent[]) => readonly StoredEvent[],
  status = aggregate?.head?.status ?? '',
): StoredAggregate => {
  const events = change(aggregate?.events ?? []);
  return { id: aggregate?.id ?? '', head: { version: events.length, status }, events };
};

/** Numbers the events again after one was added or removed. */
export const renumbered = (events: readonly StoredEvent[]): readonly StoredEvent[] =>
  events.map((each, i) => ({ ...each, version: i + 1 }));

export const madeEvent = event;
export const madeOperation = operation;
