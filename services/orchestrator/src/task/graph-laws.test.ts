import { isEndPhase } from '@holdpoint/contracts/task/status';
import type { RegistryCommand } from '@holdpoint/contracts/task/registry';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import { TaskEvent } from '@holdpoint/contracts/task/events';
import { graphOf } from '@holdpoint/workflows/graph/graph';
import { holdsIdempotence, holdsMessageIds, holdsRefusal } from '@holdpoint/runtime/testing/laws';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { submissions } from '../../testing/graph-arbitrary.ts';
import { createWorld, type Decided, type Move, type World } from '../../testing/graph-world.ts';
import { brief } from '../../testing/graphs.ts';
import { taskDecider } from './decide.ts';
import { advanceBy } from './evolve/evolve.ts';
import { mayGo, mayReopen } from './evolve/phases.ts';
import { nodeDefinition, nodeState, outcomeOf, type Task, type TaskState } from './model/state.ts';

const RUNS = Number(process.env['HOLDPOINT_TEST_GRAPHS'] ?? 50);

const moves: fc.Arbitrary<readonly Move[]> = fc.array(
  fc.record({
    kind: fc.constantFrom(
      ...Array.from({ length: 24 }, () => 'deliver' as const),
      ...(['tick', 'tick', 'tick', 'again', 'again', 'drop', 'hand', 'hand'] as const),
    ),
    pick: fc.nat(100),
    dice: fc.nat(1_000),
  }),
  { maxLength: 80, size: 'max' },
);

/** Any workflow after any messages. */
const expectEveryWorld = (check: (world: World) => void): void => {
  fc.assert(
    fc.property(submissions, moves, (submission, made) => {
      const world = createWorld(submission);
      world.begin();
      expect(world.state().phase).not.toBe('absent');
      for (const move of made) world.move(move);
      try {
        check(world);
      } catch (error) {
        throw new Error(told(world), { cause: error });
      }
    }),
    { numRuns: RUNS },
  );
};

/** The messages of a run, for a failure report. */
const told = (world: World): string =>
  world.steps
    .map(({ message, made }) => {
      const said = message.kind === 'timer' ? message.name : JSON.stringify(message).slice(0, 300);
      return `${message.kind} ${said}\n    -> ${made.events.map(brief).join(' | ')}`;
    })
    .join('\n');

const eventsOf = (steps: readonly Decided[]): readonly (readonly [before: TaskState, event: TaskEvent])[] =>
  steps.flatMap(({ before, made }) => {
    let state = before;
    return made.events.map((event) => {
      const pair = [state, event] as const;
      state = taskDecider.evolve(state, event);
      return pair;
    });
  });

const stored = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value;

/** Whether the dependencies of a node allow its start. */
const mayStart = (task: Task, node: NodeId): boolean => {
  const incoming = graphOf(task.definition).incoming(node);
  const outcomes = incoming.map(({ from, on }) => [outcomeOf(nodeState(task, from)), on] as const);
  if (outcomes.some(([outcome, on]) => on !== 'succeeded' && outcome === on)) return true;
  return outcomes.every(([outcome, on]) => on !== 'succeeded' || outcome === 'succeeded');
};

const STARTS: ReadonlySet<TaskEvent['type']> = new Set([
  'approval_requested',
  'effect_ordered',
  'locks_requested',
  'node_started',
  'step_ordered',
  'node_succeeded',
]);

const timersFor = (task: Task): readonly string[] => [
  ...(Object.values(task.peers).includes(null) ? ['peers'] : []),
  ...task.definition.nodes.flatMap(({ id }) => {
    const { status, orders, underGrant, locks, inDoubt } = nodeState(task, id);
    if (status === 'retrying') return [`retry:${id}`];
    const waits =
      status === 'awaiting_approval' ||
      status === 'recovering' ||
      (status === 'escalated' && inDoubt !== undefined) ||
      (status === 'locking' && locks === 'wanted') ||
      orders !== undefined ||
      underGrant === true;
    return waits ? [`reply:${id}`] : [];
  }),
];

const requestsIn = ({ made }: Decided): readonly RegistryCommand['request'][] =>
  made.send.flatMap(({ subject, data }) =>
    subject === 'hp.cmd.task.registry' ? [(data as unknown as RegistryCommand).request] : [],
  );

describe('any graph with any replies', () => {
  test('a repeated message changes nothing, and a refusal sends nothing', () => {
    expectEveryWorld(({ steps }) => {
      for (const step of steps) {
        holdsIdempotence(taskDecider, step);
        holdsRefusal(step);
        expect(taskDecider.decide(step.before, step.message, { now: step.now })).toEqual(step.made);
      }
    });
  });

  test('a state survives the store at any point', () => {
    expectEveryWorld(({ steps }) => {
      for (const [before, event] of eventsOf(steps)) {
        expect(TaskEvent.parse(stored(event))).toEqual(stored(event));
        const direct = stored(taskDecider.evolve(before, event));
        expect(stored(taskDecider.evolve(stored(before), stored(event)))).toEqual(direct);
      }
    });
  });

  test('two messages with one id are equal', () => {
    expectEveryWorld(({ steps }) => {
      holdsMessageIds(steps);
    });
  });

  test('phases are legal, and each event has its own', () => {
    expectEveryWorld(({ steps }) => {
      for (const [before, event] of eventsOf(steps)) {
        expect(event.phase).toBe(advanceBy(before, event.id, event).event.phase);
        if (before.phase === 'absent') continue;
        const reopens = event.type === 'restarted' && mayReopen(before.phase, event.phase);
        expect(reopens || mayGo(before.phase, event.phase), `${before.phase} to ${event.phase}`).toBe(true);
      }
    });
  });

  test('no node starts before its dependencies have succeeded or its alternative was taken', () => {
    expectEveryWorld(({ steps }) => {
      for (const [before, event] of eventsOf(steps)) {
        if (before.phase === 'absent' || !STARTS.has(event.type) || !('node' in event)) continue;
        // An operator may complete a node with open dependencies.
        if (event.type === 'node_succeeded' && event.by !== undefined) continue;
        expect(mayStart(before, event.node as NodeId), brief(event)).toBe(true);
      }
    });
  });

  test('no attempt orders anything while an earlier one has an open order', () => {
    expectEveryWorld(({ steps }) => {
      const open = new Map<string, { readonly node: string; readonly attempt: number }>();
      for (const { message, made } of steps) {
        if (message.kind === 'effect' && ENDS.has(message.event.type))
          open.delete(`${message.event.id} ${String(message.event.attempt)}`);
        for (const { subject, data } of made.send) {
          const { id, attempt, effect } = data as never as {
            readonly id: string;
            readonly attempt: number;
            readonly effect: { readonly node: string };
          };
          if (subject.startsWith('hp.cmd.effect.cancel.')) open.delete(`${id} ${String(attempt)}`);
          if (!subject.startsWith('hp.cmd.effect.run.')) continue;
          const earlier = [...open.values()].filter(
            (one) => one.node === effect.node && one.attempt < attempt,
          );
          expect(earlier, `${effect.node} in attempt ${String(attempt)}`).toEqual([]);
          open.set(`${id} ${String(attempt)}`, { node: effect.node, attempt });
        }
      }
    });
  });

  test('an attempt that released its locks does not request them again', () => {
    expectEveryWorld(({ steps }) => {
      const released = new Set<string>();
      for (const step of steps) {
        const requests = requestsIn(step);
        for (const request of requests) {
          if (request.kind !== 'acquire') continue;
          expect(released.has(`${request.node} ${String(request.attempt)}`), request.node).toBe(false);
        }
        for (const request of requests)
          if (request.kind === 'release') released.add(`${request.node} ${String(request.attempt)}`);
      }
    });
  });

  test('a node with locks runs only while the registry grants them to this attempt', () => {
    expectEveryWorld(({ steps }) => {
      for (const { before, made, after, board } of steps) {
        if (before.phase === 'absent' || after.phase === 'absent' || after.repository === undefined) continue;
        for (const event of made.events) {
          if (event.type !== 'step_ordered' && event.type !== 'effect_ordered') continue;
          const { locks = [] } = nodeDefinition(after, event.node);
          const beforehand = event.type === 'step_ordered' && /^(inspect|preview)$/.test(event.step);
          if (locks.length === 0 || beforehand) continue;
          const held = board.phase === 'board' ? board.held : [];
          const own = held.filter((each) => each.node === event.node && each.attempt === event.attempt);
          expect(own, brief(event)).toHaveLength(1);
        }
      }
    });
  });

  test('every open request has a timer that sends it again', () => {
    expectEveryWorld(({ steps }) => {
      for (const { after, timers } of steps) {
        if (after.phase === 'absent' || isEndPhase(after.phase)) continue;
        for (const name of timersFor(after)) expect([...timers], name).toContain(name);
      }
    });
  });

  test('an ended task waits only for its withdrawals', () => {
    expectEveryWorld(({ steps }) => {
      for (const { after, timers } of steps) {
        if (after.phase === 'absent' || !isEndPhase(after.phase)) continue;
        expect([...timers].filter((name) => !/^(withdraw:|report$)/.test(name))).toEqual([]);
      }
    });
  });

  test('a task ends once all goes well, and leaves nothing locked', () => {
    expectEveryWorld((world) => {
      goWell(world);
      const state = world.state();
      const statuses =
        state.phase === 'absent'
          ? []
          : state.definition.nodes.map(
              ({ id }) =>
                `${id} ${nodeState(state, id).status} ${JSON.stringify(nodeState(state, id).wait ?? '')}`,
            );
      expect(isEndPhase(state.phase as never), `${state.phase}: ${statuses.join(', ')}`).toBe(true);
      for (let more = 0; more < 400 && world.wellOnce(); more += 1);
      const board = world.board();
      expect(board.phase === 'board' ? board.held : []).toEqual([]);
      expect(board.phase === 'board' ? board.waiting : []).toEqual([]);
    });
  });
});

const ENDS = new Set(['applied', 'not_applied', 'failed_clean', 'in_doubt', 'refused', 'cancelled']);

/** More steps than any of these workflows takes, with loops. */
const STEPS_MAX = 3_000;

const goWell = (world: World): void => {
  for (let count = 0; count < STEPS_MAX; count += 1) {
    const { phase } = world.state();
    if (phase !== 'absent' && isEndPhase(phase)) return;
    if (count % 100 === 0) world.help();
    if (!world.wellOnce()) world.help();
  }
};
