import type { Frozen } from './frozen.ts';
import { type ProgramDefinition, programHash } from '@holdpoint/contracts/program/definition';
import type { z } from 'zod';
import { codeDigest } from './code-digest.ts';
import { checkDefinition } from './check.ts';
import type { AnyPhase, Phase } from './phase.ts';
import { phaseData } from './phase-data.ts';
import type { ResultOf, ValidWorkflow } from './valid-workflow.ts';

/** A workflow as its author writes it. */
export type WorkflowSpec<Schema extends z.ZodObject, Initial extends string, Phases> = {
  /** Letters, digits, dots, `-` and `_`, at most 100. */
  readonly id: string;
  /** For people. What runs is known by a hash of all of it, the code included. */
  readonly version: string;
  /**
   * What the state has to fit whenever a phase has ended. It is stored as JSON, so that it may hold defaults and
   * refinements, and nothing that would change it: no transformation, no date.
   */
  readonly state: Schema;
  readonly initial: Initial;
  readonly phases: Phases;
  /** A checkpoint each time that so many phases have ended. */
  readonly snapshotEvery?: number;
  /**
   * Tells versions apart whose own code is the same: what functions import, and what they close over, no hash can see.
   * A commit, or the digest of a lock file.
   */
  readonly build?: string;
};

/** A workflow that workers can run. Its types are what a client of it goes by. */
export type Workflow<State = unknown, Input = never, Result = unknown> = {
  readonly id: string;
  readonly version: string;
  /** Names this version, with its code, for ever: 40 hexadecimal digits. */
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

/** Of which type the state of a workflow is, what it is started with, and what it comes to. */
export type StateOf<W> = W extends Workflow<infer State, never, unknown> ? Frozen<State> : never;
export type InputOf<W> = W extends Workflow<unknown, infer Input, unknown> ? Input : never;
export type OutputOf<W> = W extends Workflow<unknown, never, infer Result> ? Result : never;

/**
 * Defines a workflow. Throws `TypeError` with everything that is wrong with it and that the compiler has not seen.
 */
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
    code: codeDigest({ ...spec, phases: spec.phases }),
    initial,
    phases: [...phases].map(([name, phase]) => phaseData(name, phase)),
    ...(snapshotEvery !== undefined && { snapshotEvery }),
  });
  return { id, version, hash: programHash(definition), definition, schema: state, phases };
};
