import type { z } from 'zod';
import type { Deployment } from '../deployment/deployment.ts';
import type { Random } from '../random.ts';
import type { Recorder } from '../bus-recorder.ts';

export const FAULT_GROUPS = [
  'process',
  'nats',
  'postgres',
  'network',
  'disk',
  'consumer',
  'message',
  'upgrade',
  'clock',
  'worker',
] as const;
export type FaultGroup = (typeof FAULT_GROUPS)[number];

/** What there is to break. */
export type Surroundings = { readonly instances: readonly string[]; readonly workers: readonly string[] };

export type FaultContext = {
  readonly deployment: Deployment;
  readonly recorder: Recorder;
  /** Waits; ends early, without an error, when the run does. */
  readonly hold: (ms: number) => Promise<void>;
  /** Number of the step, for names that must not be used twice. */
  readonly step: number;
};

type Params = Record<string, z.core.util.JSONType>;

/** One way to break something, and to mend it again. */
export type Fault = {
  readonly name: string;
  readonly group: FaultGroup;
  readonly weight: number;
  readonly draw: (random: Random, surroundings: Surroundings) => Params;
  /** Why this deployment cannot have it; undefined when it can. */
  readonly whyNot: (deployment: Deployment) => string | undefined;
  /** Of two faults that name the same thing one waits for the other. */
  readonly takes: (params: Params) => readonly string[];
  /** Breaks it, waits, and mends it; what it returns goes into the history. */
  readonly inject: (params: Params, context: FaultContext) => Promise<Params | void>;
};

type Definition<Schema extends z.ZodType<Params>> = {
  readonly name: string;
  readonly group: FaultGroup;
  readonly weight?: number;
  readonly params: Schema;
  readonly draw: (random: Random, surroundings: Surroundings) => z.output<Schema>;
  readonly whyNot?: (deployment: Deployment) => string | undefined;
  readonly takes: (params: z.output<Schema>) => readonly string[];
  readonly inject: (params: z.output<Schema>, context: FaultContext) => Promise<Params | void>;
};

/** Something that everybody has lost when it happens: never two of these at once. */
export const DATA = 'data';

/** Parameters come from a plan, which may be a file: they are parsed wherever they are used. */
export const defineFault = <Schema extends z.ZodType<Params>>({
  weight = 1,
  whyNot = () => undefined,
  params: schema,
  ...definition
}: Definition<Schema>): Fault => ({
  ...definition,
  weight,
  whyNot,
  takes: (params) => definition.takes(schema.parse(params)),
  inject: (params, context) => definition.inject(schema.parse(params), context),
});
