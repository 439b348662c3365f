import type {
  CapabilityDefinition,
  CapabilityEvent,
  RegisteredCapability,
} from '@holdpoint/contracts/approval/capability';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { capabilityIdOf } from '@holdpoint/contracts/values/ids';
import { asSent, canonicalJson } from '@holdpoint/contracts/values/json';
import { type Decider, type Decision, decision, refused, unknownEvent } from '@holdpoint/runtime/decider';
import { definitionProblem } from './definition.ts';

export type CapabilityMessage =
  | {
      readonly kind: 'register_capability';
      readonly definition: CapabilityDefinition;
      readonly by: string;
    }
  | { readonly kind: 'withdraw_capability'; readonly name: string; readonly by: string };

type CapabilityDecision = Decision<CapabilityEvent>;

export const evolveCapability = (
  state: RegisteredCapability | undefined,
  event: CapabilityEvent,
): RegisteredCapability => {
  switch (event.type) {
    case 'capability_registered':
      return { ...event.definition, status: 'registered', registeredBy: event.by, registeredAt: event.at };
    case 'capability_withdrawn':
      if (state === undefined) throw new Error(`capability ${event.name} was never registered`);
      return { ...state, status: 'withdrawn', withdrawnBy: event.by };
    default:
      return unknownEvent(event);
  }
};

const definitionOf = ({
  status: _,
  registeredBy: __,
  registeredAt: ___,
  withdrawnBy: ____,
  ...definition
}: RegisteredCapability): CapabilityDefinition => definition;

const answered = (capability: RegisteredCapability): Pick<CapabilityDecision, 'answer'> => ({
  answer: { ok: asSent(capability) },
});

const register = (
  state: RegisteredCapability | undefined,
  { definition, by }: Extract<CapabilityMessage, { kind: 'register_capability' }>,
  now: number,
): CapabilityDecision => {
  const problem = definitionProblem(definition);
  if (problem !== undefined) return refused(errorBody('APPROVALS_CAPABILITY_INVALID', problem));
  const isSame =
    state?.status === 'registered' && canonicalJson(definitionOf(state)) === canonicalJson(definition);
  if (isSame) return decision(answered(state));
  const { name } = definition;
  const event: CapabilityEvent = {
    type: 'capability_registered',
    id: capabilityIdOf(name),
    name,
    definition,
    by,
    at: now,
  };
  return decision({ events: [event], ...answered(evolveCapability(state, event)) });
};

const withdraw = (
  state: RegisteredCapability | undefined,
  { name, by }: Extract<CapabilityMessage, { kind: 'withdraw_capability' }>,
  now: number,
): CapabilityDecision => {
  if (state === undefined)
    return refused(errorBody('APPROVALS_UNKNOWN_CAPABILITY', `unknown capability: ${name}`));
  if (state.status === 'withdrawn') return decision(answered(state));
  const event: CapabilityEvent = {
    type: 'capability_withdrawn',
    id: capabilityIdOf(name),
    name,
    by,
    at: now,
  };
  return decision({ events: [event], ...answered(evolveCapability(state, event)) });
};

/** One name of a remote capability, and its latest definition. */
export const capabilityDecider: Decider<
  RegisteredCapability | undefined,
  CapabilityMessage,
  CapabilityEvent
> = {
  initial: undefined,
  evolve: evolveCapability,
  decide: (state, message, { now }) =>
    message.kind === 'register_capability' ? register(state, message, now) : withdraw(state, message, now),
};
