import { RegistryEvent, NotifyTask } from '@holdpoint/contracts/task/registry';
import { PAYLOAD_MAX_BYTES } from '@holdpoint/contracts/bus/streams';
import { holdsEveryLaw } from '@holdpoint/runtime/testing/laws';
import { eventsOf, runOf } from '@holdpoint/runtime/testing/run';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { acquire, informationOf, NOW, release, reminder } from '../../testing/registry.ts';
import {
  artifactActs,
  boardActs,
  collisions,
  idleWaiters,
  lockActs,
  overtaken,
  wants,
} from '../../testing/registry-moves.ts';
import { registryDecider, type RegistryMessage } from './decide.ts';
import { artifactStatuses } from './artifact-states.ts';
import { type Registry, type RegistryState, emptyRegistry } from './state.ts';

const boardOf = (state: RegistryState): Registry =>
  state.phase === 'absent' ? emptyRegistry('r-0000000000000000' as Registry['id']) : state;

test('any messages in any order keep every decider law', () => {
  fc.assert(fc.property(boardActs, (sequence) => void holdsEveryLaw(registryDecider, sequence)));
});

test('every event and message fits its contract and the size limits', () => {
  fc.assert(
    fc.property(boardActs, (sequence) => {
      const run = runOf(registryDecider, sequence);
      for (const event of eventsOf(run)) {
        const sent: unknown = JSON.parse(JSON.stringify(event));
        expect(RegistryEvent.parse(sent)).toEqual(sent);
      }
      for (const { data } of run.flatMap(({ made }) => made.send)) {
        const text = JSON.stringify(data);
        const sent: unknown = JSON.parse(text);
        expect(NotifyTask.parse(sent)).toEqual(sent);
        expect(text.length).toBeLessThan(PAYLOAD_MAX_BYTES / 2);
      }
    }),
  );
});

test('no two jobs hold the same key, unless both share it', () => {
  fc.assert(
    fc.property(lockActs, (sequence) => {
      for (const { after } of runOf(registryDecider, sequence))
        expect(collisions(boardOf(after))).toEqual([]);
    }),
  );
});

test('no job waits when nothing blocks it', () => {
  fc.assert(
    fc.property(lockActs, (sequence) => {
      for (const { after } of runOf(registryDecider, sequence))
        expect(idleWaiters(boardOf(after))).toEqual([]);
    }),
  );
});

test('a job appears once, with one attempt', () => {
  fc.assert(
    fc.property(boardActs, (sequence) => {
      for (const { after } of runOf(registryDecider, sequence)) {
        const { held, waiting, watches } = boardOf(after);
        const names = [...held, ...waiting].map(({ task, node }) => `${task}/${node}`);
        const watching = watches.map(({ task, node }) => `${task}/${node}`);
        expect([new Set(names).size, new Set(watching).size]).toEqual([names.length, watching.length]);
      }
    }),
  );
});

test('no job gets a key that an earlier job waits for', () => {
  fc.assert(
    fc.property(lockActs, (sequence) => {
      const since = new Map<string, number>();
      for (const { message, made, after } of runOf(registryDecider, sequence)) {
        if (message.kind === 'registry' && message.request.kind === 'acquire') {
          since.set(message.request.task, message.request.since);
        }
        for (const event of made.events) {
          if (event.type !== 'lock_acquired') continue;
          const at = since.get(event.task) ?? Number.NaN;
          expect(overtaken(boardOf(after), { ...event, since: at })).toEqual([]);
        }
      }
    }),
  );
});

test('every grant is notified, and every request is answered with the current state', () => {
  fc.assert(
    fc.property(lockActs, (sequence) => {
      for (const { message, made, after } of runOf(registryDecider, sequence)) {
        const told = informationOf(made);
        for (const event of made.events) {
          if (event.type !== 'lock_acquired') continue;
          const { task, node, attempt } = event;
          expect(told).toContainEqual(expect.objectContaining({ task, node, attempt, acquired: true }));
        }
        if (message.kind !== 'registry' || message.request.kind !== 'acquire') continue;
        const { task, node, attempt } = message.request;
        const held = boardOf(after).held.some(
          (each) => each.task === task && each.node === node && each.attempt === attempt,
        );
        const last = told.at(-1);
        expect(last).toMatchObject({ kind: 'locks', task, node, attempt, acquired: held });
        const behind = last?.kind === 'locks' ? last.waitingFor : [];
        expect(behind.length > 0).toBe(!held);
      }
    }),
  );
});

test('the reminder is set exactly while a lock is held', () => {
  fc.assert(
    fc.property(boardActs, (sequence) => {
      let isSet = false;
      for (const { message, made, after } of runOf(registryDecider, sequence)) {
        // A fired timer is gone, unless it is set again.
        if (message === reminder) isSet = false;
        for (const timer of made.timers) isSet = 'set' in timer;
        expect(isSet).toBe(boardOf(after).held.length > 0);
      }
    }),
  );
});

/** Decides messages one by one. */
const boardUnder = () => {
  let state: RegistryState = registryDecider.initial;
  let now = NOW;
  return {
    board: (): Registry => boardOf(state),
    say: (message: RegistryMessage) => {
      now += 1;
      const made = registryDecider.decide(state, message, { now });
      state = made.events.reduce((reached, event) => registryDecider.evolve(reached, event), state);
      return made;
    },
  };
};

test('when all jobs release in any order, each has held its locks', () => {
  fc.assert(
    fc.property(wants, fc.infiniteStream(fc.nat()), (jobs, chance) => {
      const { board, say } = boardUnder();
      for (const { name, since, keys } of jobs) say(acquire(name, since, ...keys));
      const served: string[] = [];
      while (board().held.length > 0) {
        const { held } = board();
        const job = held[(chance.next().value ?? 0) % held.length];
        const name = `${job?.task ?? ''}/${job?.node ?? ''}`;
        served.push(name);
        say(release(name));
      }
      expect(board().waiting).toEqual([]);
      expect(served.toSorted()).toEqual(jobs.map(({ name }) => name).toSorted());
    }),
  );
});

test('reordered and repeated messages leave the registry empty once reminders are answered', () => {
  const traffic = wants.chain((jobs) => {
    const said = jobs.flatMap(({ name, since, keys }) => [acquire(name, since, ...keys), release(name)]);
    return fc.tuple(fc.constant(jobs.length), fc.shuffledSubarray([...said, ...said]));
  });
  fc.assert(
    fc.property(traffic, ([jobs, messages]) => {
      const { board, say } = boardUnder();
      for (const message of messages) say(message);
      // No job needs its locks any more: every reminded holder releases.
      for (let round = 0; round <= jobs && board().held.length > 0; round += 1) {
        for (const notification of informationOf(say(reminder))) {
          if (notification.kind !== 'locks' || !notification.acquired) continue;
          say(release(`${notification.task}/${notification.node}/${String(notification.attempt)}`));
        }
      }
      expect(board()).toMatchObject({ held: [], waiting: [] });
    }),
  );
});

test('a watcher hears of every change with all artifacts, and is dropped when all are available', () => {
  fc.assert(
    fc.property(artifactActs, (sequence) => {
      for (const { message, made, before, after, now } of runOf(registryDecider, sequence)) {
        const all = boardOf(after);
        const told = informationOf(made);
        for (const watch of boardOf(before).watches) {
          const { task, node, attempt, labels } = watch;
          const asItIs = [...artifactStatuses(all, labels).values()];
          const asItWas = [...artifactStatuses(boardOf(before), labels).values()];
          const changed = JSON.stringify(asItIs) !== JSON.stringify(asItWas);
          if (!changed || watch.until <= now) continue;
          const heard = told.flatMap((each) =>
            each.kind === 'artifacts' && each.task === task && each.node === node && each.attempt === attempt
              ? each.artifactStates
              : [],
          );
          expect(heard).toEqual(asItIs);
        }
        if (message.kind === 'timer') continue;
        for (const { labels } of all.watches) {
          const states = [...artifactStatuses(all, labels).values()].map(({ state }) => state);
          expect(states.every((state) => state === 'available')).toBe(false);
        }
      }
    }),
  );
});

test('artifact states follow from the latest report of each task, except for newer available artifacts', () => {
  fc.assert(
    fc.property(artifactActs, (sequence) => {
      const latest = new Map<string, { serial: number; states: ReadonlySet<string> }>();
      for (const { message, after } of runOf(registryDecider, sequence)) {
        if (message.kind !== 'registry' || message.request.kind !== 'report') continue;
        const { task, serial, artifacts } = message.request;
        if (serial > (latest.get(task)?.serial ?? 0)) {
          latest.set(task, {
            serial,
            states: new Set(artifacts.map(({ label, state }) => `${state} ${label}`)),
          });
        }
        for (const [label, { state }] of artifactStatuses(boardOf(after), ['x', 'y', 'z', '__proto__'])) {
          const said = (what: string): boolean =>
            [...latest.values()].some(({ states }) => states.has(`${what} ${label}`));
          const allowed = {
            available: said('available'),
            pending: said('pending'),
            failed: said('failed') && !said('pending'),
            missing: !said('failed') && !said('pending'),
          };
          expect(allowed[state], `${label} is ${state}`).toBe(true);
        }
      }
    }),
  );
});
