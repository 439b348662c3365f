import { TaskEvent } from '@holdpoint/contracts/task';
import { holdsEveryLaw } from '@holdpoint/runtime/testing/laws';
import { eventsOf, runOf } from '@holdpoint/runtime/testing/run';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { actsFor } from '../testing/moves.ts';
import { EFFECT_NODES, parallelDecider } from '../testing/parallel.ts';
import { NODE, NOW, submit } from '../testing/tasks.ts';
import { taskDecider } from './decide.ts';
import { phaseAfter } from './evolve.ts';
import { isTerminal, mayGo } from './phases.ts';
import { type NodeStatus, type Task, type TaskState } from './state.ts';

/** A task that has just reached its gate, or one with several of them that has not begun. */
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
  ['no task yet', taskDecider, [NODE]],
] as const;

const stateAfter = (decider: typeof taskDecider, events: readonly TaskEvent[]): TaskState =>
  events.reduce((state, event) => decider.evolve(state, event), decider.initial);

const statusesOf = (task: Task): readonly (readonly [node: string, status: NodeStatus])[] =>
  Object.entries(task.nodes).map(([node, { status }]) => [node, status]);

describe.each(decidersUnderTest)('any messages in any order about %s', (_, decider, nodes) => {
  const acts = actsFor(decider, nodes);
  const expectEveryRun = (
    check: (
      run: ReturnType<typeof runOf<TaskState, Parameters<typeof taskDecider.decide>[1], TaskEvent, never>>,
    ) => void,
  ) => fc.assert(fc.property(acts, (sequence) => check(runOf(decider, sequence))));

  test('keep every law of a decider', () => {
    fc.assert(fc.property(acts, (sequence) => void holdsEveryLaw(decider, sequence)));
  });

  test('lead through legal phases only, each stamped on its event', () => {
    expectEveryRun((run) => {
      let state = decider.initial;
      for (const event of eventsOf(run)) {
        const legal = state.phase === 'absent' ? event.phase === 'queued' : mayGo(state.phase, event.phase);
        expect(legal, `${state.phase} to ${event.phase}`).toBe(true);
        expect(event.phase).toBe(phaseAfter(state, event));
        state = decider.evolve(state, event);
        expect(state.phase).toBe(event.phase);
      }
    });
  });

  test('change nothing once the task has ended', () => {
    expectEveryRun((run) => {
      for (const { before, made } of run) {
        if (before.phase === 'absent' || !isTerminal(before.phase)) continue;
        expect({ events: made.events, send: made.send, timers: made.timers }).toEqual({
          events: [],
          send: [],
          timers: [],
        });
      }
    });
  });

  test('lead to events that the contract allows, with a version that has no gap', () => {
    expectEveryRun((run) => {
      const events = eventsOf(run);
      for (const event of events) {
        const sent: unknown = JSON.parse(JSON.stringify(event));
        expect(TaskEvent.parse(sent)).toEqual(sent);
      }
      expect(versionOf(stateAfter(decider, events))).toBe(versionOf(decider.initial) + events.length);
    });
  });

  test('order an effect only under the grant of its own approval', () => {
    expectEveryRun((run) => {
      const grants = new Map<string, string>();
      for (const { message, made } of run) {
        if (
          message.kind === 'approval' &&
          message.fact.type === 'resolved' &&
          message.fact.outcome === 'approved'
        ) {
          grants.set(message.fact.id, message.fact.grant ?? '');
        }
        const ordered = made.events.filter((event) => event.type === 'effect_ordered');
        expect(ordered.map(({ approval }) => grants.get(approval))).toEqual(
          ordered.map(({ grant }) => grant),
        );
      }
    });
  });

  test('leave a timer for whatever is asked of somebody, and for nothing else', () => {
    expectEveryRun((run) => {
      const set = new Set(expectedTimers(decider.initial));
      for (const { message, made, after } of run) {
        // A timer that fired is gone, unless it is set again.
        if (message.kind === 'timer') set.delete(message.name);
        for (const timer of made.timers) {
          if ('set' in timer) set.add(timer.set);
          else set.delete(timer.clear);
        }
        expect([...set].toSorted()).toEqual(expectedTimers(after));
      }
    });
  });

  test('never leave a task that nothing will move on', () => {
    expectEveryRun((run) => {
      const byItself = run.filter(
        ({ after }) => after.phase !== 'absent' && !isTerminal(after.phase) && !waitsForPerson(after),
      );
      for (const { after } of byItself) expect(expectedTimers(after), after.phase).not.toEqual([]);
    });
  });
});

const TIMER_OF: Partial<Record<NodeStatus, string>> = {
  awaiting_approval: 'reply',
  running: 'reply',
  recovering: 'reply',
  retrying: 'retry',
};

const expectedTimers = (state: TaskState): readonly string[] =>
  state.phase === 'absent' || isTerminal(state.phase)
    ? []
    : statusesOf(state)
        .flatMap(([node, status]) => (TIMER_OF[status] === undefined ? [] : [`${TIMER_OF[status]}:${node}`]))
        .toSorted();

const waitsForPerson = (task: Task): boolean =>
  task.pausedByHand || statusesOf(task).some(([, status]) => status === 'escalated');

const versionOf = (state: TaskState): number => (state.phase === 'absent' ? 0 : state.version);
