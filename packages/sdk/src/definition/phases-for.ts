import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { z } from 'zod';
import type { Awaitable } from './context.ts';
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

/** The phases of a workflow whose state fits one schema. */
export type PhasesFor<State, Input> = {
  /** Work: an agent, a script, a computation. */
  readonly agentPhase: <
    Output,
    const Name extends string,
    Item = never,
    Guard extends Awaitable<boolean> = never,
    Response = never,
  >(
    spec: AgentSpec<State, Input, Name, Item, Output, Guard, Response>,
  ) => AgentPhase<State, Name>;
  /** A question to people. */
  readonly humanPhase: <Response, const Name extends string>(
    spec: HumanPhaseSpec<State, Name, Response>,
  ) => HumanPhase<State, Name>;
  /** One side effect, as data. */
  readonly effectPhase: <const Name extends string, Result = JsonObject>(
    spec: EffectSpec<State, Name, Result>,
  ) => EffectPhase<State, Name>;
  /** Where the task ends. */
  readonly terminalPhase: <Result = undefined>(
    spec?: TerminalSpec<State, Result>,
  ) => TerminalPhase<State, Result>;
  /** {@link PhasesFor.terminalPhase}, by its short name. */
  readonly terminal: <Result = undefined>(spec?: TerminalSpec<State, Result>) => TerminalPhase<State, Result>;
};

/**
 * What phases of a state are made with. They are bound to the schema, so that inside of a phase the types of state, output and
 * response follow without a word.
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
