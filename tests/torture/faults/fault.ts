import { CORE_SERVICES, type ServiceName } from '@holdpoint/contracts/bus/subjects';
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
  'attack',
  'upgrade',
  'clock',
  'worker',
] as const;
export type FaultGroup = (typeof FAULT_GROUPS)[number];

export type Surroundings = { readonly instances: readonly string[]; readonly workers: readonly string[] };

export type FaultContext = {
  readonly deployment: Deployment;
  readonly recorder: Recorder;
  /** Waits, or returns early when the run ends. */
  readonly hold: (ms: number) => Promise<void>;
  /** The number of the step, for unique names. */
  readonly step: number;
};

type Params = Record<string, z.core.util.JSONType>;

/** One way to break something and to repair it. */
export type Fault = {
  readonly name: string;
  readonly group: FaultGroup;
  readonly weight: number;
  readonly draw: (random: Random, surroundings: Surroundings) => Params;
  /** Why this deployment cannot have it, or undefined. */
  readonly whyNot: (deployment: Deployment) => string | undefined;
  /** Two faults with a common resource do not overlap. */
  readonly takes: (params: Params) => readonly string[];
  /** Breaks, waits and repairs. The result goes into the history. */
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

/** Faults that lose data never overlap. */
export const DATA = 'data';

const REPLICAS_MAX = 4;

/** The names of the processes that run a service in either form: a process of its own, or the core. */
export const processesWith = (service: ServiceName): readonly string[] =>
  [service, ...CORE_SERVICES.filter((each) => each === service).map(() => 'core')].flatMap((process) =>
    Array.from({ length: REPLICAS_MAX }, (_, i) => `${process}-${String(i + 1)}`),
  );

/** A plan may come from a file, so parameters are parsed where they are used. */
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
