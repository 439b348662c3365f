import { hasFieldOfNext } from '../kit/bus/next-release.ts';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { entryIn } from '@holdpoint/executor/effect/state';
import { decision, type TimerChange } from '@holdpoint/runtime/decider';
import type { TimerRow } from '@holdpoint/runtime/engine/ports';
import type { Bug } from './services/cluster.ts';

/** A bug and the invariants that may find it. */
export type Planted = {
  readonly name: string;
  readonly bug: Bug;
  readonly finds: readonly string[];
  readonly held?: number;
  /** Whether only a run with two releases can show it. */
  readonly upgrade?: boolean;
};

export const PLANTED: readonly Planted[] = [
  {
    name: 'a field of the next release is refused',
    upgrade: true,
    finds: ['only malformed or poisoned messages are dead letters'],
    bug: {
      beforeDecode: (_subject, payload) => {
        if (hasFieldOfNext(payload))
          throw new HoldpointError('CONTRACT_INVALID', '(body): a field is unknown');
      },
    },
  },
  {
    name: 'an event of the next release is refused',
    upgrade: true,
    finds: ['only malformed or poisoned messages are dead letters'],
    bug: {
      beforeDecode: (subject) => {
        if (subject.startsWith('hp.evt.effect.measured.'))
          throw new HoldpointError('CONTRACT_UNKNOWN_SUBJECT', 'no event has this type');
      },
    },
  },
  {
    name: 'a message is acknowledged before the commit',
    finds: ['a message is acknowledged only after its commit'],
    bug: {
      take: (take) => (delivery) => {
        take({ ...delivery, ack: () => undefined });
        delivery.ack();
      },
    },
  },
  {
    name: 'an event is published before the commit',
    finds: ['every published message was committed, and no internal event is published'],
    bug: {
      store: (store, { bus }, life) => ({
        ...store,
        lock: async (aggregates, within) => {
          const transaction = await store.lock(aggregates, within);
          return {
            ...transaction,
            commit: (write) => {
              void bus.publisher(life, () => undefined).publish(write.outbox);
              return transaction.commit(write);
            },
          };
        },
      }),
    },
  },
  {
    name: 'an outcome is recorded under any epoch',
    finds: ['the recorded outcome of an epoch is the one that its executor saw'],
    bug: {
      effect: (decider) => ({
        ...decider,
        decide: (state, message, at) =>
          decider.decide(
            state,
            message.kind === 'outcome' && state.status !== 'absent' && state.entry !== undefined
              ? { ...message, epoch: state.entry.epoch }
              : message,
            at,
          ),
      }),
    },
  },
  {
    name: 'every effect with an expired lease starts again',
    finds: [
      'an effect that may have happened is repeated only where that is harmless or a person wants it',
      // An opaque effect that waits for its repeat has no timer that offers it again.
      'a node that waits forever has a person, a task or a missing artifact as its reason',
      'no effect stays in progress',
    ],
    bug: {
      effect: (decider) => ({
        ...decider,
        decide: (state, message, at) => {
          const made = decider.decide(state, message, at);
          const order = entryIn(state)?.order;
          if (order === undefined || !made.events.some(({ type }) => type === 'in_doubt')) return made;
          return {
            ...made,
            events: made.events.map((event) =>
              event.type === 'in_doubt' ? { ...event, next: 'repeat' as const } : event,
            ),
            work: [{ kind: 'await_slot', order }],
          };
        },
      }),
    },
  },
  {
    name: 'the deadline is not compared with the database clock',
    finds: ['an approval is decided only before its deadline'],
    bug: {
      approval: (decider) => ({
        ...decider,
        decide: (state, message, at) =>
          message.kind === 'decide' && state.status === 'pending'
            ? decider.decide(state, message, { now: Math.min(at.now, state.expiresAt - 1) })
            : decider.decide(state, message, at),
      }),
    },
  },
  {
    name: 'one approval is enough for every gate',
    finds: [
      'an approval has as many approvers as its quorum',
      'a requester does not approve their own request under four eyes',
      'an effect that is hard to undo is approved by an operator who did not ask, even if the request demands less',
    ],
    bug: {
      approval: (decider) => ({
        ...decider,
        decide: (state, message, at) => {
          if (state.status !== 'pending' || message.kind !== 'decide')
            return decider.decide(state, message, at);
          const { policy: _, ...request } = state.request;
          return decider.decide({ ...state, request }, message, at);
        },
      }),
    },
  },
  {
    name: 'an agent decides like a person',
    finds: ['no agent decides a request of its owner'],
    bug: {
      approval: (decider) => ({
        ...decider,
        decide: (state, message, at) => {
          if (state.status !== 'pending' || message.kind !== 'decide' || message.by.agent === undefined)
            return decider.decide(state, message, at);
          const own = state.request.requestedBy === message.by.name;
          const request = { ...state.request, ...(own && { requestedBy: 'another person' }) };
          return decider.decide({ ...state, request }, message, at);
        },
      }),
    },
  },
  {
    name: 'the name in a command counts without a token',
    finds: [
      'a verified requester is the person who asked',
      'under four eyes a second person approves, even if the requester used another name',
    ],
    bug: { sender: () => () => ({ kind: 'service' }) },
  },
  {
    name: 'an unverified requester is another person than every approver',
    finds: [
      'under four eyes a second person approves, even if the requester used another name',
      'an approval has as many approvers as its quorum',
    ],
    bug: {
      approval: (decider) => ({
        ...decider,
        decide: (state, message, at) => {
          if (state.status !== 'pending' || message.kind !== 'decide')
            return decider.decide(state, message, at);
          const requestedBy = state.request.requestedBy.replace('unverified:', '');
          return decider.decide({ ...state, request: { ...state.request, requestedBy } }, message, at);
        },
      }),
    },
  },
  {
    name: 'a retried dead letter is dropped',
    finds: ['a dead letter is resolved only as an operator requested'],
    bug: { settle: (settle) => (wanted) => settle({ ...wanted, action: 'drop' }) },
  },
  {
    name: 'retention purges the records of an open task',
    finds: [
      'nothing is purged that an open task needs',
      'a purged aggregate is not written again',
      'a message is acknowledged only after its commit',
    ],
    bug: { retention: { heedless: true } },
  },
  {
    name: 'a standing rule has no limit',
    finds: ['a standing rule decides only requests that it matches'],
    bug: {
      rule: (decider) => ({
        ...decider,
        decide: (state, message, at) =>
          decider.decide(
            state !== undefined && message.kind === 'use_rule' ? { ...state, uses: 0 } : state,
            message,
            at,
          ),
      }),
    },
  },
  {
    name: 'a notice is sent once and never resent',
    finds: ['every surface shows the resolution of an approval'],
    bug: {
      approval: (decider) => ({
        ...decider,
        decide: (state, message, at) => {
          const made = decider.decide(state, message, at);
          const isRepeat = (change: TimerChange): boolean =>
            'set' in change && change.set.startsWith('notice/');
          return { ...made, timers: made.timers.filter((change) => !isRepeat(change)) };
        },
      }),
    },
  },
  {
    name: 'a job in the queue of a lock takes it',
    finds: ['a job runs only while it holds its locks'],
    bug: {
      task: (decider) => ({
        ...decider,
        decide: (state, message, at) => {
          if (message.kind !== 'notify' || message.payload.notification.kind !== 'locks')
            return decider.decide(state, message, at);
          const notification = { ...message.payload.notification, acquired: true };
          return decider.decide(state, { ...message, payload: { ...message.payload, notification } }, at);
        },
      }),
    },
  },
  {
    name: 'a resent failure gets a new verdict',
    finds: ['a failure has one verdict', 'a resent verdict is the same'],
    bug: {
      recovery: (decider) => ({
        ...decider,
        decide: (state, message, at) => {
          if (message.kind !== 'assess') return decider.decide(state, message, at);
          const { node, attempt } = message.payload;
          const attempts = state.attempts.filter((each) => each.node !== node || each.attempt !== attempt);
          return decider.decide({ ...state, attempts }, message, at);
        },
      }),
    },
  },
  {
    name: 'a resolved job stays on the list of stuck jobs',
    finds: [
      'the system comes to rest',
      'the list of stuck jobs has no job that is not stuck',
      'no timer is left',
    ],
    bug: {
      recovery: (decider) => ({
        ...decider,
        decide: (state, message, at) =>
          message.kind === 'job_unstuck' ? decision({}) : decider.decide(state, message, at),
      }),
    },
  },
  {
    name: 'a retry gets no hint',
    finds: ['a retry gets the hint about earlier attempts'],
    bug: {
      task: (decider) => ({
        ...decider,
        decide: (state, message, at) => {
          const made = decider.decide(state, message, at);
          const untold = made.events.map((event) =>
            event.type === 'restarted' || event.type === 'node_retrying'
              ? { ...event, hint: undefined }
              : event,
          );
          return { ...made, events: untold };
        },
      }),
    },
  },
  {
    name: 'a waiting task never resends',
    finds: [
      'a node that waits forever has a person, a task or a missing artifact as its reason',
      'every accepted task ends',
      'every approval ends',
      'a node that waits for recovery or an answer has a timer that resends',
    ],
    bug: {
      task: (decider) => ({
        ...decider,
        decide: (state, message, at) => {
          const made = decider.decide(state, message, at);
          return { ...made, timers: made.timers.filter((change) => !('set' in change)) };
        },
      }),
    },
  },
  {
    name: 'a paused or given up job waits without a question',
    finds: [
      'every job that waits for a person has a question',
      'a node that waits for recovery or an answer has a timer that resends',
    ],
    bug: {
      task: (decider) => ({
        ...decider,
        decide: (state, message, at) => {
          const { after, ...made } = decider.decide(state, message, at);
          const isAsked = made.events.some(({ type }) => type === 'stuck_asked');
          if (!isAsked) return { ...made, ...(after !== undefined && { after }) };
          return {
            ...made,
            events: made.events.filter(({ type }) => type !== 'stuck_asked'),
            send: made.send.filter(({ subject }) => subject !== 'hp.cmd.approval.request'),
            timers: [],
          };
        },
      }),
    },
  },
  {
    name: 'a timer is deleted before its message is handled',
    finds: [
      'the system comes to rest',
      'every accepted task ends',
      'every approval ends',
      'a node that waits forever has a person, a task or a missing artifact as its reason',
      'a node that waits for recovery or an answer has a timer that resends',
    ],
    bug: {
      store: (store, { databases }) => ({
        ...store,
        lockDue: async (limit) => {
          const { transaction, due } = await store.lockDue(limit);
          const forget = ({ aggregate, name }: TimerRow): void => {
            for (const { tables } of Object.values(databases)) tables.timers.delete(`${aggregate}/${name}`);
          };
          due.forEach(forget);
          return { transaction, due };
        },
      }),
    },
  },
  {
    name: 'an outbox row is deleted before its publish is confirmed',
    finds: ['every committed message is published'],
    bug: {
      store: (store, { databases }) => ({
        ...store,
        lock: async (aggregates, within) => {
          const transaction = await store.lock(aggregates, within);
          return {
            ...transaction,
            commit: async (write) => {
              const row = await transaction.commit(write);
              for (const { tables } of Object.values(databases)) tables.outbox.clear();
              return row;
            },
          };
        },
      }),
    },
  },
];
