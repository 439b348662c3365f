import { isEndPhase } from '@holdpoint/contracts/task/status';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { Json } from '@holdpoint/contracts/values/json';
import { TaskEvent } from '@holdpoint/contracts/task/events';
import type { Outgoing } from '@holdpoint/runtime/decider';
import { holdsEveryLaw } from '@holdpoint/runtime/testing/laws';
import { eventsOf, runOf } from '@holdpoint/runtime/testing/run';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { actsFor, keepTimers } from '../../testing/moves.ts';
import { EFFECT_NODES, gatedDecider, parallelDecider } from '../../testing/parallel.ts';
import { keyOf, openQuestions } from '../../testing/questions.ts';
import { NODE, NOW, submit } from '../../testing/tasks.ts';
import { taskDecider } from './decide.ts';
import { advanceBy } from './evolve/evolve.ts';
import type { TaskMessage } from './model/messages.ts';
import { mayGo } from './evolve/phases.ts';
import { findNode, nodeState, type NodeStatus, type Task, type TaskState } from './model/state.ts';

/** A task at its gate, or a task with several gates before its start. */
const decidersUnderTest = [
  [
    'the sample',
    {
      ...taskDecider,
      initial: runOf(taskDecider, [{ message: submit(), now: NOW }])[0]?.after ?? taskDecider.initial,
    },
    [NODE],
  ],
  ['parallel effects', parallelDecider, EFFECT_NODES],
  ['effects with gates', gatedDecider, EFFECT_NODES],
  ['no task yet', taskDecider, [NODE]],
] as const;

const stateAfter = (decider: typeof taskDecider, events: readonly TaskEvent[]): TaskState =>
  events.reduce((state, event) => decider.evolve(state, event), decider.initial);

const statusesOf = (task: Task): readonly (readonly [node: string, status: NodeStatus])[] =>
  task.definition.nodes.map(({ id }) => [id, nodeState(task, id).status]);

describe.each(decidersUnderTest)('any messages in any order about %s', (_, decider, nodes) => {
  const acts = actsFor(decider, nodes);
  const expectEveryRun = (
    check: (
      run: ReturnType<typeof runOf<TaskState, Parameters<typeof taskDecider.decide>[1], TaskEvent, never>>,
    ) => void,
  ) => fc.assert(fc.property(acts, (sequence) => check(runOf(decider, sequence))));

  test('any messages keep every decider law', () => {
    fc.assert(fc.property(acts, (sequence) => void holdsEveryLaw(decider, sequence)));
  });

  test('phases are legal, and each event has its own', () => {
    expectEveryRun((run) => {
      let state = decider.initial;
      for (const event of eventsOf(run)) {
        const legal = state.phase === 'absent' ? event.phase === 'queued' : mayGo(state.phase, event.phase);
        expect(legal, `${state.phase} to ${event.phase}`).toBe(true);
        expect(event.phase).toBe(advanceBy(state, event.id, event).event.phase);
        state = decider.evolve(state, event);
        expect(state.phase).toBe(event.phase);
      }
    });
  });

  test('an ended task does not change', () => {
    expectEveryRun((run) => {
      for (const { before, made } of run) {
        if (before.phase === 'absent' || !isEndPhase(before.phase)) continue;
        expect(made.events).toEqual([]);
      }
    });
  });

  test('an ended task only confirms its withdrawals', () => {
    expectEveryRun((run) => {
      for (const { before, made, message } of run) {
        if (before.phase === 'absent' || !isEndPhase(before.phase)) continue;
        const timers = made.timers.map((timer) => ('set' in timer ? timer.set : timer.clear));
        expect(timers.filter((name) => !name.startsWith('withdraw:'))).toEqual([]);
        // Recovery repeats its verdict for a stuck job.
        const asked = message.kind === 'recover' ? 'hp.cmd.recovery.job_unstuck' : undefined;
        const said = made.send.filter(({ subject }) => subject !== asked);
        expect(said.filter(({ subject }) => !subject.includes('.cancel'))).toEqual([]);
        expect(message.kind === 'timer' ? [] : said).toEqual([]);
      }
    });
  });

  test('each message acts once, however often and late it comes', () => {
    expectEveryRun((run) => {
      const acted = new Set<TaskMessage>();
      for (const { message, made, after, now } of run) {
        expect(acted.has(message) ? made.events : [], JSON.stringify(message)).toEqual([]);
        if (made.events.length > 0 && message.kind !== 'timer') acted.add(message);
        // A restarted node may reach the same effect again, and then hears that it is applied.
        const sentBack = new Set(
          made.events.flatMap((event) => (event.type === 'restarted' ? event.nodes : [])),
        );
        for (const each of acted)
          if (each.kind === 'effect' && sentBack.has(each.event.node)) acted.delete(each);
        const again = [...acted].filter((each) => decider.decide(after, each, { now }).events.length > 0);
        expect(again).toEqual([]);
      }
    });
  });

  test('an ordered effect that was applied always counts', () => {
    expectEveryRun((run) => {
      const ordered = new Set<string>();
      for (const { message, made, before } of run) {
        const applied =
          message.kind === 'effect' && message.event.type === 'applied' ? message.event : undefined;
        const task = before.phase === 'absent' || isEndPhase(before.phase) ? undefined : before;
        const status = (applied && task && findNode(task, applied.node)?.status) ?? 'idle';
        // A restarted node does not request the effect until it reaches it again.
        const gate = applied && task && findNode(task, applied.node)?.gate;
        const isAsked = applied !== undefined && gate?.effectId === applied.id;
        const known = isAsked && ordered.has(`${applied.node} ${applied.id}`);
        const heard = made.events.some(
          (event) => event.type === 'node_succeeded' && event.node === applied?.node,
        );
        expect(heard, status).toBe(known && task !== undefined && !ENDED.has(status));
        for (const event of made.events)
          if (event.type === 'effect_ordered') ordered.add(`${event.node} ${event.effectId}`);
      }
    });
  });

  test('exactly the unanswered requests are sent again', () => {
    expectEveryRun((run) => {
      const state = run.at(-1)?.after ?? decider.initial;
      const open = openQuestions(run).at(-1) ?? new Map<string, Outgoing>();
      const timers = new Map<string, Json>();
      for (const { message, made } of run) keepTimers(timers, message, made.timers);
      const ids = new Set(run.flatMap(({ made }) => made.send.map(({ id }) => id)));
      // From here on all messages are lost and only time passes. A due retry would continue.
      for (let round = 1; round <= 3; round += 1) {
        const sent: Outgoing[] = [];
        for (const [name, data] of [...timers].filter(([each]) => !each.startsWith('retry:'))) {
          const message = { kind: 'timer', name, data } as const;
          const made = decider.decide(state, message, { now: NOW + round });
          expect(made.events).toEqual([]);
          sent.push(...made.send);
          keepTimers(timers, message, made.timers);
        }
        expect(sent.map(keyOf).toSorted(), `round ${String(round)}`).toEqual([...open.keys()].toSorted());
        for (const { id } of sent) expect(ids.has(id), `${id} is new`).toBe(false);
        for (const { id } of sent) ids.add(id);
      }
    });
  });

  test('events fit their contract, with a version that has no gap', () => {
    expectEveryRun((run) => {
      const events = eventsOf(run);
      for (const event of events) {
        const sent: unknown = JSON.parse(JSON.stringify(event));
        expect(TaskEvent.parse(sent)).toEqual(sent);
      }
      expect(versionOf(stateAfter(decider, events))).toBe(versionOf(decider.initial) + events.length);
    });
  });

  test('an effect is ordered only under the grant of its own approval', () => {
    expectEveryRun((run) => {
      const grants = new Map<string, string>();
      for (const { message, made } of run) {
        if (
          message.kind === 'approval' &&
          message.event.type === 'resolved' &&
          message.event.outcome === 'approved'
        ) {
          grants.set(message.event.id, message.event.grant ?? '');
        }
        const ordered = made.events.filter((event) => event.type === 'effect_ordered');
        expect(ordered.map(({ approval }) => grants.get(approval))).toEqual(
          ordered.map(({ grant }) => grant),
        );
      }
    });
  });

  test('exactly the open requests have a timer', () => {
    expectEveryRun((run) => {
      const timers = new Map(expectedTimers(decider.initial, []).map((name) => [name, null as Json]));
      const open = openQuestions(run);
      for (const [i, { message, made, after }] of run.entries()) {
        keepTimers(timers, message, made.timers);
        expect([...timers.keys()].toSorted()).toEqual(
          expectedTimers(after, [...(open[i]?.values() ?? [])]).toSorted(),
        );
      }
    });
  });

  test('every open task has something that continues it', () => {
    expectEveryRun((run) => {
      const byItself = run.filter(
        ({ after }) => after.phase !== 'absent' && !isEndPhase(after.phase) && !waitsForPerson(after),
      );
      for (const { after } of byItself) expect(expectedTimers(after, []), after.phase).not.toEqual([]);
    });
  });
});

const ENDED: ReadonlySet<NodeStatus> = new Set(['succeeded', 'skipped', 'blocked', 'failed', 'cancelled']);

const TIMER_OF: Partial<Record<NodeStatus, string>> = {
  awaiting_approval: 'reply',
  running: 'reply',
  recovering: 'reply',
  retrying: 'retry',
};

const expectedTimers = (state: TaskState, open: readonly Outgoing[]): readonly string[] => {
  if (state.phase === 'absent') return [];
  const takenBack = open.filter(({ subject }) => subject.includes('.cancel'));
  const withdrawals = takenBack.map(({ data }) => {
    const { node, id } = data as { readonly node: string; readonly id: string };
    return `withdraw:${node}:${id}`;
  });
  if (isEndPhase(state.phase)) return withdrawals;
  const waiting = statusesOf(state).flatMap(([node, status]) => {
    const { inDoubt, stuck } = findNode(state, node as NodeId) ?? {};
    const asks = status === 'escalated' && (inDoubt !== undefined || stuck !== undefined);
    const timer = asks ? 'reply' : TIMER_OF[status];
    return timer === undefined ? [] : [`${timer}:${node}`];
  });
  return [...waiting, ...withdrawals];
};

const waitsForPerson = (task: Task): boolean =>
  task.pausedByHand || statusesOf(task).some(([, status]) => status === 'escalated');

const versionOf = (state: TaskState): number => (state.phase === 'absent' ? 0 : state.version);
