import type { Finding } from './check.ts';
import { CHECKS } from './table.ts';
import { createVerdicts, held } from './verdicts.ts';
import type { ProgramEvidence, RunEvidence, TaskEvidence } from '../evidence/evidence.ts';
import type { FeedEvent } from '../pages/feed.ts';
import type { GraphPlan } from '../workload/graph.ts';
import { describe, expect, test } from 'vitest';
import {
  APPROVAL,
  EFFECT,
  grantFor,
  madeEvent,
  madeOperation,
  linesOf,
  ORDER,
  renumbered,
  soundGraphTask,
  soundRun,
  soundTask,
  soundTroubledTask,
  TASK,
  withEvents,
} from './evidence-fixture.ts';
import { soundProgram } from './program-evidence-fixture.ts';

const checkOf = (id: string) => {
  const found = CHECKS.find((check) => check.id === id);
  if (found === undefined) throw new Error(`there is no check ${id}`);
  return found;
};
const nothing: Finding = { checked: 0, violations: [] };

type TaskChange = (task: TaskEvidence) => Partial<TaskEvidence>;
type ProgramChange = (program: ProgramEvidence) => Partial<ProgramEvidence>;
type RunChange = (run: RunEvidence) => Partial<RunEvidence>;

const ofTask = (id: string, change: TaskChange): Finding => {
  const sound = soundTask();
  return checkOf(id).ofTask?.({ ...sound, ...change(sound) }) ?? nothing;
};
const ofGraphTask = (id: string, change: TaskChange): Finding => {
  const sound = soundGraphTask();
  return checkOf(id).ofTask?.({ ...sound, ...change(sound) }) ?? nothing;
};
const ofTroubledTask = (id: string, change: TaskChange): Finding => {
  const sound = soundTroubledTask();
  return checkOf(id).ofTask?.({ ...sound, ...change(sound) }) ?? nothing;
};
const ofProgram = (id: string, change: ProgramChange): Finding => {
  const sound = soundProgram();
  return checkOf(id).ofProgram?.({ ...sound, ...change(sound) }) ?? nothing;
};
const ofRun = (id: string, change: RunChange): Finding => {
  const sound = soundRun();
  return checkOf(id).ofRun?.({ ...sound, ...change(sound) }) ?? nothing;
};

test('check ids and promises are unique', () => {
  expect(new Set(CHECKS.map(({ id }) => id)).size).toBe(CHECKS.length);
  expect(new Set(CHECKS.map(({ promise }) => promise)).size).toBe(CHECKS.length);
});

test.each(CHECKS.map(({ id }) => id))('%s holds for sound evidence', (id) => {
  const checker = createVerdicts([checkOf(id)]);
  checker.takeTask(soundTask());
  checker.takeTask(soundGraphTask());
  checker.takeTask(soundTroubledTask());
  checker.takeProgram(soundProgram());
  checker.takeRun(soundRun());
  expect(checker.verdicts().flatMap(({ violations }) => violations)).toEqual([]);
  expect(checker.verdicts().every(held)).toBe(true);
});

const started = (epoch: number, at = 350) =>
  madeEvent(0, at, { type: 'started', id: EFFECT, attempt: 1, order: ORDER, epoch, worker: 'w' });
const inDoubt = (epoch: number) =>
  madeEvent(0, 500, { type: 'in_doubt', id: EFFECT, attempt: 1, epoch, reason: 'r', next: 'person' });
const effectWith =
  (...events: readonly ReturnType<typeof started>[]): TaskChange =>
  ({ effects: [effect] }) => ({ effects: [withEvents(effect, () => renumbered(events))] });
const applied = (epoch: number) =>
  madeEvent(0, 450, { type: 'applied', id: EFFECT, attempt: 1, epoch, outputs: {} });
const ended = (type: string) => madeEvent(0, 450, { type, id: EFFECT, attempt: 1, epoch: 1, reason: 'r' });
const opaque = { ...ORDER, effect: { ...ORDER.effect, effectClass: 'opaque' } };
const startedOpaque = (epoch: number) =>
  madeEvent(0, 350, { type: 'started', id: EFFECT, attempt: 1, order: opaque, epoch, worker: 'w' });
const answered = (epoch: number, answer: string) =>
  madeEvent(0, 600, {
    type: 'answered',
    id: EFFECT,
    attempt: 1,
    epoch,
    answer,
    by: 'ada',
    approval: 'a-doubt',
  });
const prevented = (attempt: number) =>
  madeEvent(0, 650, { type: 'duplicate_prevented', id: EFFECT, attempt, outcome: 'applied' });
/** A person answered a question about the effect. */
const askedAbout =
  (answer: string, change: TaskChange): TaskChange =>
  (evidence) => ({
    ...change(evidence),
    approvals: [
      ...evidence.approvals,
      {
        id: 'a-doubt',
        head: { version: 2, status: 'answered' },
        events: renumbered([
          madeEvent(0, 510, {
            type: 'requested',
            id: 'a-doubt',
            digest: ORDER.digest,
            expiresAt: 9_000,
            inDoubt: { epoch: 2, reason: 'r' },
          }),
          madeEvent(0, 590, {
            type: 'resolved',
            id: 'a-doubt',
            outcome: 'answered',
            answer,
            by: 'ada',
            at: 590,
          }),
        ]),
      },
    ],
  });
const decided =
  (change: Record<string, unknown>): TaskChange =>
  ({ approvals: [approval] }) => ({
    approvals: [
      withEvents(approval, (events) =>
        events.map((each) =>
          each.type === 'resolved' ? { ...each, data: { ...each.data, ...change } } : each,
        ),
      ),
    ],
  });
/** An approval under a quorum of two, with these votes. */
const ofTwo =
  (...names: readonly string[]): TaskChange =>
  ({ approvals: [approval] }) => ({
    approvals: [
      withEvents(approval, (events) =>
        events.map((each) => {
          const votes = names.map((by) => ({ by, decision: 'approve', at: 240 }));
          const more = each.type === 'requested' ? { policy: { quorum: 2 } } : { votes };
          return { ...each, data: { ...each.data, ...more } };
        }),
      ),
    ],
  });
const cut =
  (count: number): TaskChange =>
  ({ task }) => ({ task: withEvents(task, (events) => events.slice(0, count), 'executing') });
const withOperations =
  (...more: readonly ReturnType<typeof madeOperation>[]): TaskChange =>
  ({ operations }) => ({ operations: [...operations, ...more] });

const fed =
  (change: (events: readonly FeedEvent[]) => readonly FeedEvent[]): TaskChange =>
  ({ feeds }) => ({ feeds: feeds.map((feed) => ({ ...feed, events: [...change(feed.events)] })) });
const agentHas =
  (type: 'voted' | 'resolved'): TaskChange =>
  ({ approvals }) => ({
    approvals: approvals.map((approval) =>
      withEvents(approval, ([requested, resolved, ...rest]) => [
        ...(requested === undefined ? [] : [requested]),
        madeEvent(2, 250, { ...resolved?.data, type, by: 'client', agent: 'claude' }),
        ...rest,
      ]),
    ),
  });
const settledLetter =
  (change: Partial<RunEvidence['settledLetters'][number]>): RunChange =>
  ({ settledLetters }) => ({ settledLetters: settledLetters.map((letter) => ({ ...letter, ...change })) });

const TASK_FAULTS: readonly (readonly [id: string, what: string, change: TaskChange])[] = [
  ['K31', 'a page missed an event', fed((events) => events.filter((_, i) => i !== 2))],
  ['K31', 'a page got an event twice', fed((events) => [...events.slice(0, 3), ...events.slice(2)])],
  ['K31', 'a page got another event', fed((events) => events.map((each) => ({ ...each, type: 'failed' })))],
  ['K31', 'a page missed the last event', fed((events) => events.slice(0, -1))],
  [
    'K31',
    'a page missed events after a reset',
    fed((events) => [...events.slice(0, 4), { version: 2, type: 'reset' }, ...events.slice(4)]),
  ],
  ['K32', 'an agent decided a request of its owner', agentHas('resolved')],
  ['K32', 'an agent voted on a request of its owner', agentHas('voted')],
  [
    'K32',
    'an agent got the answer that it decided',
    ({ meant, operations }) => ({
      meant: { ...meant, agent: 'claude' },
      operations: [
        ...operations,
        madeOperation(9, 9, 'approvals.decide', 'ok', { status: 'approved' }, 'agent'),
      ],
    }),
  ],
  ['K32', 'the request does not name its agent', ({ meant }) => ({ meant: { ...meant, agent: 'claude' } })],
  [
    'K1',
    'a version is missing',
    ({ task }) => ({
      task: withEvents(task, (events) => events.filter(({ version }) => version !== 4), 'completed'),
    }),
  ],
  [
    'K1',
    'two events are in the wrong order',
    ({ task }) => ({
      task: withEvents(task, ([a, b, ...rest]) => renumbered([a, ...rest, b].flatMap((each) => each ?? []))),
    }),
  ],
  [
    'K1',
    'an event follows the end',
    ({ task }) => ({ task: withEvents(task, (events) => renumbered([...events, ...events.slice(4, 5)])) }),
  ],
  [
    'K1',
    'lists show another phase',
    ({ task }) => ({ task: withEvents(task, (events) => events, 'executing') }),
  ],
  [
    'K1',
    'the head is older than the events',
    ({ effects: [effect] }) => ({
      effects: effect ? [{ ...effect, head: { version: 1, status: 'applied' } }] : [],
    }),
  ],
  [
    'K1',
    'an event cannot be parsed',
    ({ task }) => ({
      task: withEvents(task, (events) =>
        events.map((each) => (each.version === 4 ? { ...each, data: {} } : each)),
      ),
    }),
  ],
  [
    'K2',
    'a read shows an older version',
    withOperations(
      madeOperation(9, 9, 'orchestrator.get', 'invoke', { id: TASK }),
      madeOperation(10, 9, 'orchestrator.get', 'ok', { id: TASK, version: 5 }),
    ),
  ],
  ['K3', 'applied twice', ({ applications }) => ({ applications: [...applications, ...applications] })],
  ['K3', 'applied without a start', () => ({ effects: [] })],
  ['K4', 'applied only in the ledger', () => ({ applications: [] })],
  [
    'K4',
    'another request arrived',
    ({ applications }) => ({
      applications: applications.map((each) => ({ ...each, digest: 'f'.repeat(64) })),
    }),
  ],
  ...['failed_clean', 'cancelled', 'refused'].map(
    (type) => ['K4', `applied, and ${type} in the ledger`, effectWith(started(1), ended(type))] as const,
  ),
  [
    'K4',
    'a cleanly failed start was applied, and a later one too',
    ({ effects: [effect], applications }) => ({
      effects: [
        withEvents(effect, () =>
          renumbered([
            started(1),
            madeEvent(0, 400, { type: 'failed_clean', id: EFFECT, attempt: 1, epoch: 1 }),
            started(2),
            applied(2),
          ]),
        ),
      ],
      applications: applications.map((each) => ({ ...each, epoch: 1 })),
    }),
  ],
  ['K35', 'decided by another person', decided({ by: 'mallory' })],
  ['K35', 'resumed after a rejection', decided({ outcome: 'rejected' })],
  ['K5', 'no approval', () => ({ approvals: [] })],
  ['K5', 'rejected', decided({ outcome: 'rejected' })],
  ['K5', 'approved after the start', decided({ at: 375 })],
  [
    'K5',
    'approved after the application',
    ({ applications }) => ({ applications: applications.map((each) => ({ ...each, at: 200 })) }),
  ],
  [
    'K5',
    'another effect was approved',
    ({ approvals: [approval] }) => ({
      approvals: [
        withEvents(approval, (events) =>
          events.map((each) => ({ ...each, data: { ...each.data, digest: 'e'.repeat(64) } })),
        ),
      ],
    }),
  ],
  [
    'K5',
    'the grant is for another effect',
    effectWith(
      madeEvent(0, 350, {
        type: 'started',
        id: EFFECT,
        attempt: 1,
        order: { ...ORDER, grant: grantFor({ jti: APPROVAL, sub: 'e-other', digest: ORDER.digest }) },
        epoch: 1,
        worker: 'w',
      }),
      applied(1),
    ),
  ],
  [
    'K6',
    'decided twice',
    ({ approvals: [approval] }) => ({
      approvals: [withEvents(approval, (events) => renumbered([...events, ...events.slice(1)]))],
    }),
  ],
  ['K6', 'decided after its deadline', decided({ at: 1_000 })],
  ['K6', 'expired before its deadline', decided({ outcome: 'expired' })],
  [
    'K6',
    'a client got another decision',
    withOperations(
      madeOperation(9, 9, 'approvals.decide', 'invoke', { id: APPROVAL, decision: 'reject' }),
      madeOperation(10, 9, 'approvals.decide', 'fail', {
        code: 'APPROVALS_ALREADY_DECIDED',
        message: 'm',
        details: { status: 'rejected', by: 'second' },
      }),
    ),
  ],
  [
    'K6',
    'a rejection got the answer approved',
    withOperations(
      madeOperation(9, 9, 'approvals.decide', 'invoke', { id: APPROVAL, decision: 'reject' }),
      madeOperation(10, 9, 'approvals.decide', 'ok', { id: APPROVAL, status: 'approved', by: 'operator' }),
    ),
  ],
  ['K6', 'fewer approvers than the quorum', ofTwo('operator', 'operator')],
  ['K7', 'a start without an outcome', effectWith(started(1))],
  ['K7', 'a second start before the first was in doubt', effectWith(started(1), started(2), applied(2))],
  [
    'K7',
    'an opaque effect started again in doubt',
    effectWith(startedOpaque(1), inDoubt(2), startedOpaque(3), applied(3)),
  ],
  [
    'K21',
    'answered as applied, and started again',
    askedAbout('applied', effectWith(started(1), inDoubt(2), answered(2, 'applied'), started(3), applied(3))),
  ],
  [
    'K21',
    'answered without an approval of that answer',
    effectWith(started(1), inDoubt(2), answered(2, 'applied'), applied(2)),
  ],
  ['K21', 'prevented twice in one attempt', effectWith(started(1), applied(1), prevented(2), prevented(2))],
  ['K21', 'prevented without a start', effectWith(prevented(2), started(1), applied(1))],
  ['K8', 'it was accepted and does not exist', () => ({ task: undefined })],
  [
    'K8',
    'the task has other content',
    ({ meant }) => ({ meant: { ...meant, submission: { ...meant.submission, goal: 'another' } } }),
  ],
  ['K8', 'the task has not ended and asks no person', cut(4)],
  [
    'K8',
    'the task waits for a person without a reason',
    ({ task }) => ({
      task: withEvents(task, (events) => [
        ...events.slice(0, 4),
        madeEvent(5, 500, {
          type: 'node_escalated',
          id: TASK,
          phase: 'paused',
          node: 'request',
          attempt: 1,
          reason: '',
        }),
      ]),
    }),
  ],
  [
    'K9',
    'the bus has an event that is not stored',
    () => ({ facts: [{ aggregate: 'task', id: TASK, version: 7, type: 'failed' }] }),
  ],
  [
    'K9',
    'the bus has another event',
    () => ({ facts: [{ aggregate: 'effect', id: EFFECT, version: 2, type: 'failed_clean' }] }),
  ],
  [
    'K9',
    'the bus has an internal event',
    ({ task }) => ({
      facts: [{ aggregate: 'task', id: TASK, version: 2, type: task?.events[1]?.type ?? '' }],
    }),
  ],
  [
    'K9',
    'a public event is only announced as a change',
    () => ({ facts: [{ aggregate: 'task', id: TASK, version: 6, type: 'changed' }] }),
  ],
  ['K11', 'an epoch repeats', effectWith(started(1), inDoubt(2), started(2), applied(2))],
  ['K11', 'an outcome under an old epoch', effectWith(started(1), inDoubt(2), started(3), applied(1))],
  [
    'K11',
    'late evidence under the current epoch',
    effectWith(
      started(1),
      madeEvent(0, 400, { type: 'superseded', id: EFFECT, epoch: 1, observed: 'applied' }),
      applied(1),
    ),
  ],
  ['K14', 'completed without its effect', effectWith(started(1), inDoubt(2))],
  [
    'K14',
    'completed without its effect, as a person says who was never asked',
    (task) => ({
      ...effectWith(started(1), inDoubt(2))(task),
      task: withEvents(task.task, (events) =>
        events.map((each) =>
          each.type === 'node_succeeded' ? { ...each, data: { ...each.data, by: 'ada' } } : each,
        ),
      ),
    }),
  ],
  ['K14', 'applied, and not completed', cut(4)],
  ['K14', 'applied without an approval', decided({ outcome: 'rejected' })],
  [
    'K16',
    'other content was accepted under its id',
    withOperations(
      madeOperation(
        9,
        9,
        'orchestrator.submit',
        'ok',
        { id: TASK, phase: 'queued', version: 1 },
        'conflicting',
      ),
    ),
  ],
  [
    'K16',
    'a repeat was refused',
    withOperations(
      madeOperation(9, 9, 'orchestrator.submit', 'fail', {
        code: 'ORCHESTRATOR_TASK_CONFLICT',
        message: 'm',
      }),
    ),
  ],
  [
    'K17',
    'a valid request failed',
    withOperations(madeOperation(9, 9, 'orchestrator.get', 'info', { code: 'RUNTIME_POISON', message: 'm' })),
  ],
];

const letter = (code: string) => ({
  service: 'approvals',
  ours: false,
  letter: {
    subject: 'hp.cmd.approval.request',
    reason: { code, message: 'm' },
    headers: {},
    body: '',
    bodyBytes: 0,
    bodySha256: '',
    deliveries: 5,
    at: 0,
  },
});

type Audit = RunEvidence['audit'];

const auditWith =
  ({
    report,
    ...more
  }: Partial<Omit<Audit, 'report'>> & { readonly report?: Partial<Audit['report']> }): RunChange =>
  ({ audit }) => ({ audit: { ...audit, ...more, report: { ...audit.report, ...report } } });
const altered = { problems: [{ seq: 2, fault: 'altered', text: 'it was' }], problemCount: 1 } as const;

const RUN_FAULTS: readonly (readonly [id: string, what: string, change: RunChange])[] = [
  [
    'K34',
    'an attempt was accepted',
    () => ({ attacks: [{ attacker: 'token-scopes', tried: 2, accepted: ['recovery.circuit'] }] }),
  ],
  [
    'K34',
    'a forged message passes the check of its seal',
    () => ({
      letters: [
        {
          service: 'orchestrator',
          ours: true,
          letter: {
            subject: 'hp.evt.effect.applied.e-1',
            reason: { code: 'ORCHESTRATOR_UNKNOWN_TASK', message: 'unknown task' },
            headers: { 'Nats-Msg-Id': 'torture-forged-1-1' },
            body: '',
            bodyBytes: 0,
            bodySha256: '',
            deliveries: 1,
            at: 0,
          },
        },
      ],
    }),
  ],
  ['K33', 'a dead letter was resolved twice', settledLetter({ stated: ['drop by ada', 'retry by grace'] })],
  ['K33', 'the resolution of a dead letter is not in the stream', settledLetter({ stated: [] })],
  ['K33', 'a dead letter was dropped without a request', settledLetter({ requests: ['retry by grace'] })],
  [
    'K20',
    'two jobs hold a lock at the same time',
    () => {
      const [mine, theirs] = [linesOf(TASK), linesOf('torture-x-1')];
      const at = mine.findIndex(({ what }) => what === 'end');
      return { work: [...mine.slice(0, at), ...theirs, ...mine.slice(at)] };
    },
  ],
  [
    'K20',
    'a job starts under a held lock and is killed',
    () => {
      const mine = linesOf(TASK);
      const at = mine.findIndex(({ what }) => what === 'end');
      const theirs = linesOf('torture-x-1')
        .filter(({ what }) => what === 'begin')
        .slice(0, 1);
      return { work: [...mine.slice(0, at), ...theirs, ...mine.slice(at)] };
    },
  ],
  ['K22', 'a line of the audit log that was altered', auditWith({ report: altered })],
  ['K22', 'no line in the audit log', auditWith({ report: { lines: 0, head: undefined } })],
  ['K22', 'an event without a line', auditWith({ untold: 1 })],
  ['K22', 'an event with two lines', auditWith({ toldTwice: 1 })],
  ['K22', 'a log without anchors', auditWith({ report: { anchors: 0, anchoredTo: 0 }, heard: 0 })],
  ['K22', 'an anchor that the log does not match', auditWith({ heard: 9 })],
  ['K3', 'applied under an unknown key', () => ({ strangeApplications: ['e-9'] })],
  ['K8', 'a task without a submission', () => ({ strangers: ['torture-x-9'] })],
  [
    'K8',
    'it never came to rest',
    () => ({ settled: { afterMs: undefined, withinMs: 1_000, left: ['1 task'] } }),
  ],
  [
    'K9',
    'messages are not published',
    ({ services }) => ({ services: services.map((each) => ({ ...each, outbox: 1 })) }),
  ],
  [
    'K9',
    'a timer was due long ago',
    ({ services }) => ({ services: services.map((each) => ({ ...each, staleTimers: 1 })) }),
  ],
  ['K9', 'messages are unread', () => ({ consumers: [{ name: 'recovery', pending: 1, unacknowledged: 0 }] })],
  [
    'K9',
    'a message is not acknowledged',
    () => ({ consumers: [{ name: 'recovery', pending: 0, unacknowledged: 1 }] }),
  ],
  [
    'K9',
    'a consumer is missing',
    () => ({ consumers: [{ name: 'recovery', pending: Infinity, unacknowledged: 0 }] }),
  ],
  ['K9', 'a message of a service could not be handled', () => ({ letters: [letter('RUNTIME_POISON')] })],
  [
    'K12',
    'a token in a log',
    ({ searched }) => ({ searched: searched.map((each) => ({ ...each, found: ['token of operator'] })) }),
  ],
  [
    'K13',
    'too much memory',
    ({ peaks }) => ({ peaks: peaks.map((each) => ({ ...each, rssBytes: 2 ** 31 })) }),
  ],
  ['K13', 'too many files', ({ peaks }) => ({ peaks: peaks.map((each) => ({ ...each, openFiles: 5_000 })) })],
  [
    'K13',
    'a queue that grows',
    ({ services }) => ({ services: services.map((each) => ({ ...each, queueBytes: 2 ** 31 })) }),
  ],
  [
    'K15',
    'a process ended by itself',
    ({ ended: all }) => ({ ended: all.map((each) => ({ ...each, caused: false })) }),
  ],
  ['K15', 'an unhandled error', () => ({ outcries: ['UnhandledPromiseRejection'] })],
];

const graphWith =
  (change: Partial<GraphPlan>): TaskChange =>
  ({ meant }) => ({
    meant: { ...meant, ...(meant.graph && { graph: { ...meant.graph, ...change } }) },
  });
const without =
  (what: string): TaskChange =>
  ({ lines }) => ({ lines: lines.filter(({ about }) => about !== what) });

const endedAs =
  (phase: 'completed' | 'failed'): TaskChange =>
  ({ task }) => ({
    task: withEvents(
      task,
      (events) =>
        events.map((each, i) =>
          i < events.length - 1 ? each : { ...each, type: phase, data: { ...each.data, type: phase, phase } },
        ),
      phase,
    ),
  });

const kept =
  (change: Parameters<typeof withEvents>[1]): TaskChange =>
  ({ recovery }) => ({ recovery: withEvents(recovery, (events) => renumbered(change(events))) });
const judgedAs = (attempt: number, verdict: Readonly<Record<string, unknown>>): TaskChange =>
  kept((events) =>
    events.map((each) =>
      each.type === 'assessed' && each.data['attempt'] === attempt
        ? { ...each, data: { ...each.data, verdict: { ...(each.data['verdict'] as object), ...verdict } } }
        : each,
    ),
  );
const forgetting = (...types: readonly string[]): TaskChange =>
  kept((events) => events.filter(({ type }) => !types.includes(type)));
const untilStuck: TaskChange = ({ task }) => ({
  task: withEvents(
    task,
    (events) => events.slice(0, events.findIndex(({ type }) => type === 'node_escalated') + 1),
    'paused',
  ),
});

const TROUBLE_FAULTS: readonly (readonly [id: string, what: string, change: TaskChange])[] = [
  ['K23', 'two verdicts on one failure', kept((events) => [...events, ...events.slice(0, 1)])],
  ['K23', 'given up twice', kept((events) => [...events, ...events.slice(1, 2)])],
  ['K23', 'an unknown verdict', judgedAs(1, { rule: 'verdicts@3/other' })],
  ['K23', 'given up, and tried again', judgedAs(1, { kind: 'skip' })],
  ['K23', 'a retry verdict with a rollback', judgedAs(1, { kind: 'retry' })],
  ['K24', 'on the list, and not stuck', forgetting('job_unstuck', 'attempt_recorded')],
  ['K24', 'stuck, and not on the list', untilStuck],
  [
    'K24',
    'stuck without a verdict that gives up',
    (sound) => ({ ...untilStuck(sound), ...judgedAs(2, { kind: 'retry' })(sound) }),
  ],
  ['K25', 'failed too often', judgedAs(1, { class: 'CIRCULAR_FIX' })],
  ['K26', 'nothing is saved', () => ({ saved: [] })],
  [
    'K26',
    'a rollback to an unknown commit',
    ({ saved }) => ({ saved: saved.map((each) => ({ ...each, commits: ['d'.repeat(40)] })) }),
  ],
  [
    'K26',
    'uncommitted changes are lost',
    ({ saved }) => ({ saved: saved.map((each) => ({ ...each, files: ['state.txt'] })) }),
  ],
];

const GRAPH_FAULTS: readonly (readonly [id: string, what: string, change: TaskChange])[] = [
  [
    'K18',
    'completed although its gate never passes',
    (task) => ({ ...graphWith({ tries: 'never' })(task), ...endedAs('completed')(task), applications: [] }),
  ],
  ['K18', 'completed although a node fails', endedAs('completed')],
  ['K18', 'failed although no node fails', graphWith({ routed: 'succeeds' })],
  ['K14', 'applied and failed although no node fails', graphWith({ routed: 'not' })],
  [
    'K18',
    'applied although its gate never passes',
    (task) => ({
      ...graphWith({ tries: 'never' })(task),
      task: withEvents(task.task, (events) => events.slice(0, 9), 'failed'),
    }),
  ],
  [
    'K18',
    'approved with another end',
    ({ task }) => ({
      task: withEvents(task, (events) =>
        events.map((each, i) =>
          i < events.length - 1 ? each : { ...each, data: { ...each.data, phase: 'circuit_open' } },
        ),
      ),
    }),
  ],
  [
    'K18',
    'ended with a node left out',
    ({ task }) => ({
      task: withEvents(task, (events) => renumbered(events.filter(({ data }) => data['node'] !== 'work_1'))),
    }),
  ],
  ['K19', 'completed work that never ran', without('work_1')],
  ['K19', 'a loop with too few rounds', graphWith({ tries: 3 })],
  [
    'K19',
    'unreached work that ran',
    (task) => ({ ...graphWith({ routed: 'succeeds' })(task), ...endedAs('completed')(task) }),
  ],
  [
    'K7',
    'work without an outcome',
    ({ works }) => ({ works: works.map((work) => withEvents(work, (events) => events.slice(0, 1))) }),
  ],
  [
    'K9',
    'the bus has an event of work that is not stored',
    ({ facts }) => ({ facts: facts.map((fact) => ({ ...fact, version: 9 })) }),
  ],
];

const changed =
  (at: number, data: Record<string, unknown>): ProgramChange =>
  ({ program }) => ({
    program: withEvents(program, (events) =>
      events.map((each) => (each.version === at ? { ...each, data: { ...each.data, ...data } } : each)),
    ),
  });
const versionOf = (type: string, nth = 0): number =>
  soundProgram().program?.events.filter((each) => each.type === type)[nth]?.version ?? 0;
/** Repeats an event after the one at a version. */
const again =
  (type: string, nth: number, behind: number): ProgramChange =>
  ({ program }) => ({
    program: withEvents(program, (events) => {
      const repeated = events.filter((each) => each.type === type)[nth];
      return renumbered(
        events.flatMap((each) => (each.version === behind && repeated ? [each, repeated] : [each])),
      );
    }),
  });
const endingAt =
  (version: number, status = 'executing'): ProgramChange =>
  ({ program }) => ({ program: withEvents(program, (events) => events.slice(0, version), status) });

const PROGRAM_FAULTS: readonly (readonly [id: string, what: string, change: ProgramChange])[] = [
  [
    'K1',
    'a version is missing',
    ({ program }) => ({ program: withEvents(program, (events) => events.slice(1)) }),
  ],
  ['K1', 'lists show another phase', endingAt(9, 'completed')],
  ['K1', 'an event follows the end', again('phase_completed', 0, versionOf('completed'))],
  [
    'K6',
    'a question is answered twice',
    ({ questions: [question] }) => ({
      questions: [withEvents(question, (events) => renumbered([...events, ...events.slice(1)]))],
    }),
  ],
  [
    'K9',
    'the bus has an event that is not stored',
    ({ facts }) => ({
      facts: facts.map((fact) => ({ ...fact, type: 'phase_failed' })),
    }),
  ],
  [
    'K16',
    'its submission was refused',
    ({ operations: [asked, answer] }) => ({
      operations: [asked, answer && { ...answer, type: 'fail' as const }].flatMap((each) => each ?? []),
    }),
  ],
  [
    'K27',
    'its effect is applied twice',
    ({ applications }) => ({
      applications: [...applications, ...applications],
    }),
  ],
  ['K27', 'completed without its effect', () => ({ applications: [] })],
  ['K27', 'applied without a request of the program', endingAt(versionOf('phase_recorded', 1) - 1)],
  ['K27', 'the effect was requested twice', again('phase_recorded', 1, versionOf('phase_suspended'))],
  [
    'K27',
    'another task applies its effect',
    changed(versionOf('phase_recorded', 1), { entry: { kind: 'effect', key: 'effect:count', task: 't-x' } }),
  ],
  ['K28', 'it was accepted and does not exist', () => ({ program: undefined })],
  ['K28', 'the program has another goal', changed(1, { goal: 'something else' })],
  ['K28', 'the program has not ended', endingAt(versionOf('phase_ordered', 2))],
  [
    'K28',
    'the program waits for a question that is not open',
    (evidence) => ({
      ...endingAt(versionOf('input_requested'), 'awaiting_approval')(evidence),
      questions: [],
    }),
  ],
  ['K29', 'a lease is given twice', changed(versionOf('phase_ordered', 1), { lease: 1 })],
  ['K29', 'an event under an old lease', changed(versionOf('phase_completed'), { lease: 1 })],
  ['K29', 'a record after the lease was lost', again('phase_recorded', 0, versionOf('phase_returned'))],
  ['K29', 'a record after the lease was returned', again('phase_recorded', 1, versionOf('phase_suspended'))],
  ['K30', 'a step is recorded twice', again('phase_recorded', 0, versionOf('phase_started', 1))],
  [
    'K30',
    'a state that does not follow from the records',
    changed(versionOf('phase_completed'), { state: { token: 'another' } }),
  ],
];

describe('planted faults', () => {
  test.each(PROGRAM_FAULTS)('%s finds a planted fault of a program: %s', (id, _what, change) => {
    expect(ofProgram(id, change).violations.length).toBeGreaterThan(0);
  });
  test.each(TROUBLE_FAULTS)('%s finds a planted fault of a recovery: %s', (id, _what, change) => {
    expect(ofTroubledTask(id, change).violations.length).toBeGreaterThan(0);
  });
  test.each(GRAPH_FAULTS)('%s finds a planted fault of a graph: %s', (id, _what, change) => {
    expect(ofGraphTask(id, change).violations.length).toBeGreaterThan(0);
  });
  test.each(TASK_FAULTS)('%s: %s', (id, _what, change) => {
    expect(ofTask(id, change).violations.length).toBeGreaterThan(0);
  });
  test.each(RUN_FAULTS)('%s: %s', (id, _what, change) => {
    expect(ofRun(id, change).violations.length).toBeGreaterThan(0);
  });
  test('every check finds a planted fault', () => {
    const planted = new Set(
      [...TASK_FAULTS, ...GRAPH_FAULTS, ...TROUBLE_FAULTS, ...PROGRAM_FAULTS, ...RUN_FAULTS].map(
        ([id]) => id,
      ),
    );
    expect(CHECKS.map(({ id }) => id).filter((id) => !planted.has(id))).toEqual([]);
  });
});

describe('sound evidence', () => {
  test('a page that resumes after a reset is sound', () => {
    const setBack = fed((events) => [
      ...events.slice(0, 4),
      { version: 2, type: 'reset' },
      ...events.slice(2),
    ]);
    expect(ofTask('K31', setBack).violations).toEqual([]);
  });
  const fine: readonly (readonly [id: string, what: string, change: TaskChange])[] = [
    ['K6', 'a full quorum approved', ofTwo('operator', 'second')],
    [
      'K6',
      'withdrawn before its request',
      ({ approvals: [approval] }) => ({
        operations: [],
        approvals: [
          withEvents(
            approval,
            () => [
              madeEvent(1, 1, {
                type: 'resolved',
                id: APPROVAL,
                outcome: 'cancelled',
                by: 'orchestrator',
                at: 1,
              }),
            ],
            'withdrawn',
          ),
        ],
      }),
    ],
    ['K7', 'a keyed effect repeated in doubt', effectWith(started(1), inDoubt(2), started(3), applied(3))],
    [
      'K7',
      'an opaque effect repeated after an answer',
      askedAbout(
        'retry',
        effectWith(startedOpaque(1), inDoubt(2), answered(2, 'retry'), startedOpaque(3), applied(3)),
      ),
    ],
    [
      'K21',
      'answered with retry, and repeated',
      askedAbout('retry', effectWith(started(1), inDoubt(2), answered(2, 'retry'), started(3), applied(3))),
    ],
    ['K8', 'an unknown submission without a task', () => ({ operations: [], task: undefined })],
    [
      'K8',
      'escalated with a reason',
      ({ task }) => ({
        task: withEvents(task, (events) => [
          ...events.slice(0, 4),
          madeEvent(5, 500, {
            type: 'node_escalated',
            id: TASK,
            phase: 'paused',
            node: 'request',
            attempt: 1,
            reason: 'nobody can know',
          }),
        ]),
      }),
    ],
    ['K4', 'applied, and in doubt in the ledger', effectWith(started(1), inDoubt(2))],
  ];
  test.each(fine)('%s: %s', (id, _what, change) => {
    expect(ofTask(id, change).violations).toEqual([]);
  });
  test('a program with an open question is sound', () => {
    const waits: ProgramChange = (evidence) => ({
      ...endingAt(versionOf('input_requested'), 'awaiting_approval')(evidence),
      questions: evidence.questions.map((question) =>
        withEvents(question, (events) => events.slice(0, 1), 'pending'),
      ),
      applications: [],
    });
    for (const id of ['K1', 'K27', 'K28', 'K29', 'K30']) expect(ofProgram(id, waits).violations).toEqual([]);
  });
  test("refusals and the torture's own dead letters are sound", () => {
    const letters = [letter('APPROVALS_DIGEST_MISMATCH'), { ...letter('CONTRACT_INVALID'), ours: true }];
    expect(ofRun('K9', () => ({ letters })).violations).toEqual([]);
  });
});

test('a check without evidence fails', () => {
  const judge = createVerdicts([checkOf('K1')]);
  expect(judge.verdicts().map(held)).toEqual([false]);
});
