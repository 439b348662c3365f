import { onTestFinished } from 'vitest';
import { z } from 'zod';
import type { Phase } from '../definition/phase.ts';
import { phasesFor } from '../definition/phases-for.ts';
import { defineWorkflow, type Workflow } from '../definition/workflow.ts';
import type { WorkflowEvent } from '../client/events.ts';
import type { WorkflowHandle } from '../client/handle.ts';
import {
  createTestEnvironment,
  type TestEnvironment,
  type TestEnvironmentOptions,
} from './create-test-environment.ts';

/** For the tests of this package: a general-purpose state. */
export const State = z.object({
  topic: z.string().max(1_000_000).default('tea'),
  count: z.number().default(0),
  notes: z.array(z.string()).default([]),
  more: z.json().optional(),
});
export type State = z.output<typeof State>;
type Input = z.input<typeof State>;

export const { agentPhase, humanPhase, effectPhase, terminalPhase } = phasesFor(State);

/** A successful and a failed end. */
export const ends = {
  done: terminalPhase({ output: (state) => ({ ...state }) }),
  bad: terminalPhase({ outcome: 'failed', output: () => 'bad' }),
} as const;

type Going<First extends string, Second extends string> = {
  readonly first: Phase<State, First>;
  readonly second?: Phase<State, Second>;
};

/** A workflow of `first`, an optional `second`, `done` and `bad`. */
export const workflowOf = <
  First extends 'second' | 'done' | 'bad' | 'first',
  Second extends 'done' | 'first' | 'bad',
>({
  first,
  second,
}: Going<First, Second>): Workflow<State, Input, unknown> => {
  const other = second ?? agentPhase({ run: () => undefined, next: 'done' as const });
  return defineWorkflow({
    id: 'fixture',
    version: '1',
    state: State,
    initial: 'first',
    phases: { first: first as Phase<State, 'second'>, second: other as Phase<State, 'done'>, ...ends },
  });
};

export const environmentOf = (
  workflow: Workflow<never, never, never> | Workflow,
  options: Partial<TestEnvironmentOptions> = {},
): TestEnvironment => {
  const env = createTestEnvironment({ workflows: [workflow], ...options });
  onTestFinished(env.stop);
  return env;
};

export type PlayedTask = {
  readonly env: TestEnvironment;
  readonly handle: WorkflowHandle<State>;
  /** The result of the task, or its error. */
  readonly ended: () => Promise<unknown>;
  readonly events: () => Promise<readonly WorkflowEvent[]>;
  /** The names of its events, with phase and attempt. */
  readonly told: () => Promise<readonly string[]>;
};

/** Starts a workflow in its own environment. */
export const play = async (
  phases: Parameters<typeof workflowOf>[0],
  {
    input = {},
    prepare,
    ...options
  }: Partial<TestEnvironmentOptions> & {
    readonly input?: Input;
    readonly prepare?: (env: TestEnvironment) => void;
  } = {},
): Promise<PlayedTask> => {
  const workflow = workflowOf(phases);
  const env = environmentOf(workflow, options);
  prepare?.(env);
  const handle = (await env.start(workflow, input)) as WorkflowHandle<State>;
  const events = async (): Promise<readonly WorkflowEvent[]> => {
    const all: WorkflowEvent[] = [];
    for await (const event of handle.events()) all.push(event);
    return all;
  };
  return {
    env,
    handle,
    ended: () => handle.result().catch((error: unknown) => error),
    events,
    told: async () =>
      (await events()).map((event) =>
        'phase' in event
          ? `${event.name} ${event.phase}${'attempt' in event ? `#${String(event.attempt)}` : ''}`
          : event.name,
      ),
  };
};
