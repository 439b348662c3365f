import type {
  CircuitClosed,
  CircuitEvent,
  CircuitOpened,
  CircuitView,
  ReportCircuit,
  SetCircuit,
} from '@holdpoint/contracts/circuit';
import { circuitIdOf } from '@holdpoint/contracts/ids';
import type { JsonObject } from '@holdpoint/contracts/json';
import { type Decision, decision, type TimerFired } from '@holdpoint/runtime/decider';

/** The circuit of one outside target, for all executors. One that was never opened does not exist: it is closed. */
export type Circuit = CircuitView & {
  /** A person has opened it, and only a person closes it. */
  readonly held: boolean;
};

export type CircuitMessage =
  | { readonly kind: 'circuit'; readonly payload: ReportCircuit }
  | { readonly kind: 'set_circuit'; readonly payload: SetCircuit }
  | TimerFired;

export type CircuitRules = {
  /** So long nothing is sent to a target that fails, before one order may try. */
  readonly openMs: number;
};

/** Whoever may try, and is not heard of for so long, has lost his turn. Longer than any request may take. */
export const TRIAL_MS = 30_000;
/** What the timer of a circuit is called: for the end of `open`, and of a trial. */
const NEXT = 'circuit';

const UNNAMED = 'a person';

type Made = Decision<CircuitEvent>;
const nothing: Made = decision({});

export const evolveCircuit = (state: Circuit | undefined, event: CircuitEvent): Circuit => {
  const { id, target } = event;
  switch (event.type) {
    case 'circuit_opened': {
      const { reason, by, until } = event;
      const held = until === undefined;
      return { id, target, state: 'open', reason, by, held, ...(until !== undefined && { until }) };
    }
    case 'circuit_half_opened': {
      if (state === undefined) throw new Error('a circuit that was never open is half open');
      const { reason, by } = state;
      const { executor } = event;
      return {
        id,
        target,
        state: 'half_open',
        ...(reason !== undefined && { reason }),
        by,
        held: false,
        ...(executor !== undefined && { executor }),
      };
    }
    case 'circuit_closed': {
      const { reason, by } = event;
      return { id, target, state: 'closed', by, held: false, ...(reason !== undefined && { reason }) };
    }
  }
};

/** As it is answered: without what is not there. */
const answerOf = ({ id, target, state, by, reason, until, executor }: CircuitView): JsonObject => ({
  id,
  target,
  state,
  by,
  ...(reason !== undefined && { reason }),
  ...(until !== undefined && { until }),
  ...(executor !== undefined && { executor }),
});

export const circuitView = ({ held: _, ...view }: Circuit): CircuitView => view;

const opened = (
  {
    target,
    reason = 'no reason was given',
  }: { readonly target: string; readonly reason?: string | undefined },
  by: string,
  until: number | undefined,
): Made => {
  const event: CircuitOpened = { type: 'circuit_opened', id: circuitIdOf(target), target, reason, by, until };
  return decision({
    events: [event],
    timers: [until === undefined ? { clear: NEXT } : { set: NEXT, dueAt: until }],
  });
};

const closed = (
  { target, reason }: { readonly target: string; readonly reason?: string | undefined },
  by: string,
): Made => {
  const event: CircuitClosed = { type: 'circuit_closed', id: circuitIdOf(target), target, by, reason };
  return decision({ events: [event], timers: [{ clear: NEXT }] });
};

const halfOpened = ({ id, target }: Circuit, executor?: string): CircuitEvent => ({
  type: 'circuit_half_opened',
  id,
  target,
  ...(executor !== undefined && { executor }),
});

/** What an executor has found. What a person holds open stays so, whatever is found. */
const report = (
  state: Circuit | undefined,
  { state: found, executor, ...about }: ReportCircuit,
  now: number,
  { openMs }: CircuitRules,
): Made => {
  if (state?.held === true) return nothing;
  switch (found) {
    case 'open':
      return state?.state === 'open' ? nothing : opened(about, executor, now + openMs);
    case 'closed':
      return state === undefined || state.state === 'closed' ? nothing : closed(about, executor);
    case 'half_open':
      // The first who asks; everybody else waits for what comes of it.
      return state?.state === 'half_open' && state.executor === undefined
        ? decision({
            events: [halfOpened(state, executor)],
            timers: [{ set: NEXT, dueAt: now + TRIAL_MS }],
          })
        : nothing;
  }
};

const set = (state: Circuit | undefined, { state: wanted, by = UNNAMED, ...about }: SetCircuit): Made => {
  const id = circuitIdOf(about.target);
  const isSo = wanted === 'open' ? state?.held === true : state === undefined || state.state === 'closed';
  const asItIs: CircuitView =
    state === undefined ? { id, target: about.target, state: 'closed', by } : circuitView(state);
  if (isSo) return decision({ answer: { ok: answerOf(asItIs) } });
  const made = wanted === 'open' ? opened(about, by, undefined) : closed(about, by);
  const after = made.events.reduce(evolveCircuit, state);
  return { ...made, answer: { ok: answerOf(after ?? asItIs) } };
};

const timerFired = (state: Circuit | undefined, name: string): Made => {
  if (name !== NEXT || state === undefined || state.held) return nothing;
  const isDue = state.state === 'open' || (state.state === 'half_open' && state.executor !== undefined);
  return isDue ? decision({ events: [halfOpened(state)] }) : nothing;
};

export const decideCircuit = (
  state: Circuit | undefined,
  message: CircuitMessage,
  now: number,
  rules: CircuitRules,
): Made => {
  switch (message.kind) {
    case 'circuit':
      return report(state, message.payload, now, rules);
    case 'set_circuit':
      return set(state, message.payload);
    case 'timer':
      return timerFired(state, message.name);
  }
};
