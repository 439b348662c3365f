import type { Frozen } from './frozen.ts';
import { type ProgramDefinition, programHash } from '@holdpoint/contracts/program/definition';
import type { z } from 'zod';
import { shapeDigest } from './shape-digest.ts';
import { checkDefinition } from './check.ts';
import type { AnyPhase, Phase } from './phase.ts';
import { phaseData } from './phase-data.ts';
import type { ResultOf, ValidWorkflow } from './valid-workflow.ts';

/** A workflow as its author writes it. */
export type WorkflowSpec<Schema extends z.ZodObject, Initial extends string, Phases> = {
  /** 1 to 100 letters, digits, dots, `-` and `_`. */
  readonly id: string;
  /**
   * Change it with the meaning of the code. Tasks keep the version that they started with, and workers of another version
   * leave them alone. The source of functions is no part of the identity.
   */
  readonly version: string;
  /**
   * The state after every phase must fit this schema. It is stored as JSON, so the schema may have defaults
   * and refinements, but no transformations or dates.
   */
  readonly state: Schema;
  readonly initial: Initial;
  readonly phases: Phases;
  /** Takes a checkpoint after this many phases. */
  readonly snapshotEvery?: number;
  /** Distinguishes builds of one version, for example by commit. Client and worker must state the same one. */
  readonly build?: string;
};

/** A workflow that workers can run. Its types serve its clients. */
export type Workflow<State = unknown, Input = never, Result = unknown> = {
  readonly id: string;
  readonly version: string;
  /** Identifies this version by its declared shape, the same in every build: 40 hexadecimal digits. */
  readonly hash: string;
  readonly definition: ProgramDefinition;
  readonly schema: z.ZodObject;
  readonly phases: ReadonlyMap<string, AnyPhase>;
  readonly known?: {
    readonly state: () => State;
    readonly input: (input: Input) => void;
    readonly result: () => Result;
  };
};

/** The types of a workflow's state, input and result. */
export type StateOf<W> = W extends Workflow<infer State, never, unknown> ? Frozen<State> : never;
export type InputOf<W> = W extends Workflow<unknown, infer Input, unknown> ? Input : never;
export type OutputOf<W> = W extends Workflow<unknown, never, infer Result> ? Result : never;

/** Defines a workflow. Throws `TypeError` with all problems that the compiler could not find. */
export const defineWorkflow = <
  Schema extends z.ZodObject,
  const Initial extends string,
  const Phases extends Readonly<Record<string, Phase<z.output<Schema>>>>,
>(
  spec: WorkflowSpec<Schema, Initial, Phases> & ValidWorkflow<Initial, Phases>,
): Workflow<z.output<Schema>, z.input<Schema>, ResultOf<Phases>> => {
  const { id, version, initial, state, snapshotEvery } = spec;
  const phases = new Map(Object.entries(spec.phases as Readonly<Record<string, AnyPhase>>));
  const definition = checkDefinition(state, phases, {
    id,
    version,
    code: shapeDigest({ ...spec, phases: spec.phases }),
    initial,
    phases: [...phases].map(([name, phase]) => phaseData(name, phase)),
    ...(snapshotEvery !== undefined && { snapshotEvery }),
  });
  return { id, version, hash: programHash(definition), definition, schema: state, phases };
};
