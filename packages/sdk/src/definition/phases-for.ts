import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { z } from 'zod';
import type { Awaitable } from './context.ts';
import type { OnErrorSpec } from './on-error.ts';
import type {
  AgentPhase,
  AgentSpec,
  AnyAgent,
  AnyEffect,
  AnyHuman,
  AnyTerminal,
  EffectPhase,
  EffectSpec,
  HumanPhase,
  HumanPhaseSpec,
  TerminalPhase,
  TerminalSpec,
} from './phase.ts';

/** Constructors of the phases of one workflow, typed by its state. */
export type PhasesFor<State, Input> = {
  /** Work: an agent, a script, a computation. */
  readonly agentPhase: <
    Output,
    const Name extends string,
    Item = never,
    Guard extends Awaitable<boolean> = never,
    Response = never,
    Strategy extends OnErrorSpec<State>['strategy'] = never,
  >(
    spec: AgentSpec<State, Input, Name, Item, Output, Guard, Response, Strategy>,
  ) => AgentPhase<State, Name>;
  /** A question. */
  readonly humanPhase: <Response, const Name extends string, Guard extends Awaitable<boolean> = never>(
    spec: HumanPhaseSpec<State, Input, Name, Guard, Response>,
  ) => HumanPhase<State, Name>;
  /** One side effect, as data. */
  readonly effectPhase: <const Name extends string, Result = JsonObject>(
    spec: EffectSpec<State, Input, Name, Result>,
  ) => EffectPhase<State, Name>;
  /** An end of the task. */
  readonly terminalPhase: <Result = undefined>(
    spec?: TerminalSpec<State, Result>,
  ) => TerminalPhase<State, Result>;
  /** Short for {@link PhasesFor.terminalPhase}. */
  readonly terminal: <Result = undefined>(spec?: TerminalSpec<State, Result>) => TerminalPhase<State, Result>;
};

/**
 * Creates the phase constructors for a state schema, so that state, output and response are typed without
 * annotations.
 */
export const phasesFor = <Schema extends z.ZodObject>(
  _state: Schema,
): PhasesFor<z.output<Schema>, z.input<Schema>> => {
  const terminalPhase = <Result>(
    spec: TerminalSpec<z.output<Schema>, Result> = {},
  ): TerminalPhase<z.output<Schema>, Result> => ({
    type: 'terminal',
    spec: spec as unknown as AnyTerminal,
  });
  return {
    agentPhase: (spec) => ({ type: 'agent', spec: spec as unknown as AnyAgent }),
    humanPhase: (spec) => ({ type: 'human', spec: spec as unknown as AnyHuman }),
    effectPhase: (spec) => ({ type: 'effect', spec: spec as unknown as AnyEffect }),
    terminalPhase,
    terminal: terminalPhase,
  };
};
