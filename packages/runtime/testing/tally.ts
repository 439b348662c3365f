import { snapshotEvery } from '../src/engine/core.ts';
import { errorBody, HoldpointError } from '@holdpoint/contracts/values/errors';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { Addressed, AggregateKind } from '../src/engine/kinds.ts';
import { type Decider, decision, refused, type TimerFired, unknownEvent } from '../src/decider.ts';

/** A counter that counts each key once: the smallest idempotent decider. */
export type Tally = { readonly total: number; readonly keys: readonly string[] };

export type TallyMessage =
  | { readonly kind: 'add'; readonly key: string; readonly by?: number }
  /** Also leads to work, a message and a timer. */
  | { readonly kind: 'busy'; readonly key: string; readonly dueAt?: number }
  | { readonly kind: 'refuse' }
  /** A message that the decider throws on; with a code, a `HoldpointError`. */
  | { readonly kind: 'poison'; readonly code?: 'CONTRACT_INVALID' }
  /** Leads to an event that cannot be folded. */
  | { readonly kind: 'unfoldable' }
  | { readonly kind: 'set'; readonly name: string; readonly dueAt: number }
  | { readonly kind: 'clear'; readonly name: string };

export type TallyEvent =
  | { readonly type: 'added'; readonly key: string; readonly by: number }
  | { readonly type: 'broken' };
export type TallyWork = { readonly work: string };

const added = (state: Tally, key: string, by: number): readonly TallyEvent[] =>
  state.keys.includes(key) ? [] : [{ type: 'added', key, by }];

const decide = (state: Tally, message: TallyMessage | TimerFired) => {
  switch (message.kind) {
    case 'add':
      return decision<TallyEvent, TallyWork>({
        events: added(state, message.key, message.by ?? 1),
        answer: { ok: { total: state.total } },
      });
    case 'busy':
      return decision<TallyEvent, TallyWork>({
        events: added(state, message.key, 1),
        send: [
          {
            subject: subjects.taskCommand('checkpoint'),
            id: `busy.${message.key}`,
            type: 'busy',
            data: { key: message.key },
          },
        ],
        timers:
          message.dueAt === undefined
            ? []
            : [{ set: 'busy', dueAt: message.dueAt, data: { key: message.key } }],
        work: [{ work: message.key }],
      });
    case 'refuse':
      return refused(errorBody('ERR_FORBIDDEN', 'not today'));
    case 'poison':
      throw message.code === undefined
        ? new TypeError('cannot be')
        : new HoldpointError(message.code, 'cannot be');
    case 'unfoldable':
      return decision<TallyEvent, TallyWork>({
        events: [{ type: 'added', key: 'half', by: 1 }, { type: 'broken' }],
        work: [{ work: 'never' }],
      });
    case 'set':
      return decision<TallyEvent, TallyWork>({
        events: added(state, `set ${message.name}`, 1),
        timers: [{ set: message.name, dueAt: message.dueAt }],
      });
    case 'clear':
      return decision<TallyEvent, TallyWork>({ timers: [{ clear: message.name }] });
    case 'timer':
      if (message.name.startsWith('poison')) throw new TypeError('cannot be');
      return decision<TallyEvent, TallyWork>({ events: added(state, `timer ${message.name}`, 1) });
  }
};

export const tallyDecider: Decider<Tally, TallyMessage | TimerFired, TallyEvent, TallyWork> = {
  initial: { total: 0, keys: [] },
  evolve: (state, event) => {
    switch (event.type) {
      case 'added':
        return { total: state.total + event.by, keys: [...state.keys, event.key] };
      case 'broken':
        throw new TypeError('an event that cannot be folded');
      default:
        return unknownEvent(event);
    }
  },
  decide,
};

export type ToTally = Addressed<'tally', TallyMessage | TimerFired>;

export const tallyKind: AggregateKind<Tally, TallyMessage, TallyEvent, TallyWork> = {
  publishedAs: 'effect',
  decider: tallyDecider,
  summarise: ({ total }) => ({ status: total > 9 ? 'many' : 'few', view: { total } }),
  snapshotDue: snapshotEvery(1_000),
};
