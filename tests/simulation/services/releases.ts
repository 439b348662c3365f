import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { ServiceLogic } from '@holdpoint/runtime/engine/core';
import type { Addressed } from '@holdpoint/runtime/engine/kinds';
import type { WireMessage } from '@holdpoint/runtime/engine/ports';
import type { Seals } from '@holdpoint/runtime/engine/seals';
import { decidedByNext, sentByNext } from '../../kit/bus/next-release.ts';
import { type Kind, mapKinds } from './kinds.ts';

/**
 * What a process runs. The code under test is that of `this` release: a process of another one differs by what it sends, stores
 * and can read. An upgrade replaces one release by the following one.
 */
export type Release = 'last' | 'this' | 'next';

/** Commands that 0.2.0 has and 0.1.0 cannot read. */
const LATER_COMMANDS: ReadonlySet<string> = new Set([
  'hp.cmd.approval.call_back',
  'hp.cmd.task.callback_taken',
]);
/** Fields that 0.1.0 never sends, by the start of the subject. */
const LATER_FIELDS: readonly (readonly [message: string, fields: readonly string[]])[] = [
  ['hp.evt.approval.requested.', ['description', 'risk']],
  ['hp.evt.effect.started.', ['remote']],
];

/** A command that the last release keeps as a dead letter, until a process of this one retries it. */
export const isLaterCommand = (subject: string): boolean => LATER_COMMANDS.has(subject);

const sentByLast = (message: WireMessage): WireMessage => {
  const { subject, body } = message;
  const [, later] = LATER_FIELDS.find(([start]) => subject.startsWith(start)) ?? [];
  if (later === undefined) return message;
  const known = Object.entries(JSON.parse(body) as object).filter(([name]) => !later.includes(name));
  return { ...message, body: JSON.stringify(Object.fromEntries(known)) };
};

/** What a process of this release sends on the bus. */
export const sealsIn = (release: Release, seals: Seals): Seals => {
  switch (release) {
    case 'last':
      return { ...seals, seal: (messages) => seals.seal(messages.map(sentByLast)) };
    case 'this':
      return seals;
    case 'next':
      return { ...seals, seal: (messages) => seals.seal(messages.flatMap(sentByNext)) };
  }
};

const addingToEvents = (kind: Kind): Kind => ({
  ...kind,
  decider: {
    ...kind.decider,
    decide: (state, message, at) => decidedByNext(kind.decider.decide(state, message, at)),
  },
});

/** What a process of this release stores and can read. */
export const logicIn = <To extends Addressed, Event extends { readonly type: string }, Work>(
  release: Release,
  logic: ServiceLogic<To, Event, Work>,
): ServiceLogic<To, Event, Work> => {
  switch (release) {
    case 'this':
      return logic;
    case 'next':
      return { ...logic, kinds: mapKinds(logic.kinds, addingToEvents) };
    case 'last':
      return {
        ...logic,
        inbound: logic.inbound.map((inbound) => ({
          ...inbound,
          decode: (subject, payload, meta) => {
            if (isLaterCommand(subject))
              throw new HoldpointError(
                'CONTRACT_UNKNOWN_SUBJECT',
                `${logic.service} knows no command on this subject`,
              );
            return inbound.decode(subject, payload, meta);
          },
        })),
      };
  }
};
