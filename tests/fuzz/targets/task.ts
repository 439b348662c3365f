import { IDENTITY_HEADER } from '@holdpoint/contracts/approval/identity';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { repositoryIdOf } from '@holdpoint/contracts/values/ids';
import { Outcome } from '@holdpoint/contracts/workflow/workflow';
import { registryDecider, type RegistryMessage } from '@holdpoint/orchestrator/registry/decide';
import { taskDecider } from '@holdpoint/orchestrator/task/decide';
import { orchestratorLogic } from '@holdpoint/orchestrator/bindings';
import type { SenderOf } from '@holdpoint/orchestrator/sender';
import type { Sender } from '@holdpoint/orchestrator/task/model/sender';
import { rollback } from '@holdpoint/orchestrator/workflows/rollback';
import { acquire, artifact, report, require } from '@holdpoint/orchestrator/testing/registry';
import {
  approvalOf,
  doubtHistories,
  EFFECT,
  GRANT,
  histories,
  NODE,
  TASK,
} from '@holdpoint/orchestrator/testing/tasks';
import type { Loaded } from '@holdpoint/runtime/engine/batch';
import { eventsOf, runOf } from '@holdpoint/runtime/testing/run';
import { decisionTarget, type Inlet, NOW } from '../decisions.ts';
import { CIRCUIT, graphHistories, LABEL, lastOrder, REPOSITORY, STAGE } from '../situations/graphs.ts';

const BOARD = repositoryIdOf(REPOSITORY);
const absent: Loaded = { kind: 'task', version: 0, state: taskDecider.initial };

const tasks: Readonly<Record<string, Loaded>> = {
  absent,
  ...Object.fromEntries(
    Object.entries({ ...histories, ...doubtHistories, ...graphHistories }).map(([situation, events]) => [
      situation,
      {
        kind: 'task',
        version: events.length,
        state: events.reduce((state, event) => taskDecider.evolve(state, event), taskDecider.initial),
      },
    ]),
  ),
};

const boardAfter = (...messages: readonly RegistryMessage[]): Loaded => {
  const run = runOf(
    registryDecider,
    messages.map((message) => ({ message: { ...message, id: BOARD } as RegistryMessage, now: NOW })),
  );
  return {
    kind: 'registry',
    version: eventsOf(run).length,
    state: run.at(-1)?.after ?? registryDecider.initial,
  };
};

const boards: Readonly<Record<string, Loaded>> = {
  noBoard: { kind: 'registry', version: 0, state: registryDecider.initial },
  boardHeld: boardAfter(acquire('t-1/stage', NOW, 'branch:main')),
  boardWaiting: boardAfter(
    acquire('t-2/stage', NOW, 'branch:main'),
    acquire('t-1/stage', NOW + 1, 'branch:main', '+repository'),
  ),
  boardMade: boardAfter(
    report('t-2', 1, artifact('available', LABEL, { payload: { text: 'x' } })),
    require('t-1/stage', LABEL),
  ),
};

/** Assertions, by their text: those of valid ones, one whose key comes later, and one that has ended. */
const ASSERTED: Readonly<Record<string, () => Sender>> = {
  operator: () => ({ kind: 'person', name: 'ada', groups: ['operators'], roles: [] }),
  guest: () => ({ kind: 'person', name: 'guest', groups: [], roles: [] }),
  agent: () => ({ kind: 'person', name: 'ada', groups: ['operators'], roles: [], agent: 'bot' }),
  later: () => {
    throw new HoldpointError('RUNTIME_UNAVAILABLE', 'its key is not known yet');
  },
  ended: () => {
    throw new HoldpointError('IDENTITY_EXPIRED', 'fetch a new one');
  },
};
const senderOf: SenderOf = (_, header) => {
  const assertion = header(IDENTITY_HEADER);
  return assertion === undefined
    ? { kind: 'unverified' }
    : (ASSERTED[assertion]?.() ?? { kind: 'unverified' });
};

const command = (name: string, fixed: object) => ({
  consumer: 'orchestrator',
  subject: `hp.cmd.task.${name}`,
  link: (value: object): object => ({ ...value, ...fixed }),
  situations: Object.keys(tasks),
});
/** The same from people, with and without an assertion. */
const fromPeople = (name: string, fixed: object) => ({
  ...command(name, fixed),
  consumer: 'orchestrator-people',
  subject: `hp.in.task.${name}`,
  assertions: [undefined, ...Object.keys(ASSERTED)],
});
/** Alternates between nodes: half of the situations have only the second. */
const nodeIn = (situation: string) => (situation in graphHistories ? STAGE : NODE);
const onNode = (inlet: Inlet, fixed: object): Inlet => ({
  ...inlet,
  link: (value: object, situation: string): object => ({ ...value, ...fixed, node: nodeIn(situation) }),
});

const ROLLBACK = { task: 't-2', node: NODE, attempt: 1, commit: '0'.repeat(40), place: { worktree: 'w' } };
/** A submission of a task that mostly does not exist yet. Now and then a field that makes it a refused one stays. */
const submission = (fixed: object, mostly: object): Pick<Inlet, 'link' | 'situations'> => ({
  situations: [...Object.keys(tasks), ...Object.keys(tasks).map(() => 'absent')],
  link: (value) => ({
    ...value,
    ...fixed,
    id: TASK,
    definition: undefined,
    ...(JSON.stringify(value).length % 5 !== 0 && mostly),
  }),
});

const resolved = {
  consumer: 'orchestrator-approval',
  subject: `hp.evt.approval.resolved.${approvalOf(1)}`,
  situations: Object.keys(tasks),
  link: (value: object, situation: string): object => {
    const history = Object.entries({ ...histories, ...doubtHistories, ...graphHistories }).find(
      ([name]) => name === situation,
    );
    const lastRequest = history?.[1].findLast(
      (event) =>
        event.type === 'approval_requested' ||
        event.type === 'in_doubt_asked' ||
        event.type === 'stuck_asked',
    );
    const id = lastRequest?.approval ?? approvalOf(1);
    return { ...value, id, task: TASK, node: nodeIn(situation), attempt: 1 };
  },
};

/** A stage result with each outcome now and then. */
const stageResult = (value: object): object => {
  const outcomes = Outcome.options;
  const text = JSON.stringify(value);
  const given = 'outputs' in value ? value.outputs : {};
  return text.length % 3 === 0
    ? {}
    : { outputs: { ...(given as object), outcome: outcomes[text.length % outcomes.length], outputs: given } };
};

/** The order of the running sample task. */
const asked = histories.awaiting.find((event) => event.type === 'approval_requested');
const order = {
  id: EFFECT,
  attempt: 1,
  effect: asked?.effect,
  digest: asked?.digest,
  grant: GRANT.grant,
};

const reported = (event: string) => ({
  consumer: 'orchestrator-effect',
  subject: `hp.evt.effect.${event}.${EFFECT}`,
  situations: Object.keys(tasks),
  link: (value: object, situation: string): object => {
    const about = { ...value, task: TASK, node: nodeIn(situation), attempt: 1 };
    const history = Object.entries(graphHistories).find(([name]) => name === situation)?.[1] ?? [];
    const step = lastOrder(history);
    if (step === undefined) return { ...about, id: EFFECT, ...('order' in value && { order }) };
    const { effectId: id, effect, digest } = step;
    // Sometimes the id stays as generated.
    return {
      ...about,
      ...(event === 'applied' && stageResult(value)),
      ...(JSON.stringify(value).length % 5 !== 0 && { id }),
      ...('order' in value && { order: { id, attempt: 1, effect, digest } }),
    };
  },
});

type About = Readonly<Record<string, object>>;
const STAGE_JOB = { task: TASK, node: STAGE, attempt: 1 };
const INFORMED: About = {
  locks: { ...STAGE_JOB, repository: BOARD },
  reported: { task: TASK },
  artifacts: STAGE_JOB,
  peer: { task: TASK, peer: 't-3', node: undefined },
};
/** A rollback task is a peer that another task waits for. */
const informedIn = (situation: string): About => {
  const history = Object.entries(graphHistories).find(([name]) => name === situation)?.[1] ?? [];
  const ordered = history.find((event) => event.type === 'rollback_ordered');
  return ordered === undefined
    ? INFORMED
    : { ...INFORMED, peer: { task: TASK, peer: ordered.by, node: undefined } };
};
const BOARD_ASKED: About = {
  acquire: { ...STAGE_JOB, since: NOW + 1 },
  release: STAGE_JOB,
  report: { task: 't-2' },
  require: STAGE_JOB,
};
const filled = (value: object, field: string, kinds: About, tag: string): object => {
  const inner = (value as Readonly<Record<string, Readonly<Record<string, unknown>>>>)[field] ?? {};
  return { ...value, [field]: { ...inner, ...kinds[String(inner[tag])] } };
};

/** Commands to tasks and to the lock registry, and events of other services. */
export const task = decisionTarget(
  'task',
  orchestratorLogic(undefined, undefined, senderOf),
  { ...tasks, ...boards },
  {
    'command/task.submit': {
      ...fromPeople('submit', {}),
      ...submission({ workflow: 'sample' }, { program: undefined, rollbackOf: undefined }),
    },
    'command/task.submit of the orchestrator': {
      ...command('submit', {}),
      ...submission({ workflow: rollback.id }, { program: undefined, inputs: ROLLBACK }),
    },
    'command/task.cancel': fromPeople('cancel', { id: TASK, node: undefined }),
    'command/task.cancel of the orchestrator': command('cancel', { id: TASK, node: undefined }),
    'command/task.pause': onNode(fromPeople('pause', {}), { id: TASK }),
    'command/task.resume': fromPeople('resume', { id: TASK, node: undefined }),
    'command/task.retry': onNode(fromPeople('retry', {}), { id: TASK, attempt: undefined }),
    'command/task.skip': onNode(fromPeople('skip', {}), { id: TASK }),
    'command/task.done': onNode(fromPeople('done', {}), { id: TASK }),
    'command/task.checkpoint': onNode(fromPeople('checkpoint', {}), { id: TASK, attempt: undefined }),
    'command/task.record_review': onNode(fromPeople('record_review', {}), { id: TASK }),
    'command/task.circuit_state': command('circuit_state', { id: TASK, circuit: CIRCUIT }),
    'command/task.recover': onNode(command('recover', {}), { task: TASK, attempt: 1 }),
    'command/task.watch': command('watch', { id: TASK, node: undefined }),
    'command/task.callback_taken': command('callback_taken', { id: TASK }),
    'command/task.notify': {
      ...command('notify', {}),
      link: (value, situation) => ({
        ...filled(value, 'notification', informedIn(situation), 'kind'),
        id: TASK,
      }),
    },
    'command/task.registry': {
      ...command('registry', {}),
      situations: Object.keys(boards),
      link: (value) => ({ ...filled(value, 'request', BOARD_ASKED, 'ask'), id: BOARD }),
    },
    'event/approval.resolved': resolved,
    'event/effect.deferred': reported('deferred'),
    'event/effect.undeferred': reported('undeferred'),
    'event/effect.applied': reported('applied'),
    'event/effect.failed_clean': reported('failed_clean'),
    'event/effect.in_doubt': reported('in_doubt'),
    'event/effect.refused': reported('refused'),
    'event/effect.cancelled': reported('cancelled'),
    'event/effect.not_applied': reported('not_applied'),
    'event/effect.duplicate_prevented': reported('duplicate_prevented'),
  },
);
