import { z } from 'zod';
import { CanonicalEffect, Digest } from '../effect/canonical-effect.ts';
import { AgentName } from '../values/agent.ts';
import { ErrorBody } from '../values/errors.ts';
import { ApprovalId, CommandId, EffectId, NodeId, TaskId } from '../values/ids.ts';
import { Json, JsonObject } from '../values/json.ts';
import { ProgramDefinition, ProgramHash } from './definition.ts';
import { EffectEnd, Entry, EntryKey, ProgramEffect } from './recording.ts';
import { Activation, PhaseFailure, ProgramAnswer, ProgramQuestion } from './work.ts';

const visit = { node: NodeId, visit: z.int().min(1), attempt: z.int().min(1) } as const;
const leased = { ...visit, lease: z.int().min(1) } as const;

/** State that a fork takes over: that of the beginning of the phase visit. */
export const ForkedProgram = z.object({
  task: TaskId,
  version: z.int().min(1),
  node: NodeId,
  /** Effects that already happened. */
  entries: z.array(Entry),
});
export type ForkedProgram = z.infer<typeof ForkedProgram>;

/** The subset of {@link TaskPhase} for tasks of TypeScript workflows. */
const ProgramTaskPhase = z.enum([
  'execution_ready',
  'executing',
  'awaiting_approval',
  'recovering',
  'paused',
  'completed',
  'failed',
  'cancelled',
]);

const fact = <Type extends string, Shape extends z.core.$ZodLooseShape>(type: Type, shape: Shape) =>
  z.object({ type: z.literal(type), id: TaskId, phase: ProgramTaskPhase, ...shape });

const command = { command: CommandId.optional() } as const;

/**
 * Events of tasks with a TypeScript workflow. They share `paused`, `completed` and others with graph
 * tasks.
 */
export const ProgramEvent = z.discriminatedUnion('type', [
  fact('program_submitted', {
    goal: z.string(),
    acceptanceCriteria: z.array(z.string()),
    inputs: JsonObject,
    requestedBy: z.string(),
    /** The agent that submitted it on behalf of the person. */
    agent: AgentName.optional(),
    program: ProgramDefinition,
    hash: ProgramHash,
    state: JsonObject,
    repository: z.string().optional(),
    forkedFrom: ForkedProgram.optional(),
    at: z.int(),
    contentDigest: Digest,
  }),
  /** A phase was offered to the workers. */
  fact('phase_ordered', { ...leased, activation: Activation }),
  fact('phase_started', { ...leased, worker: z.string() }),
  /** No worker has claimed the phase yet. */
  fact('phase_waiting', { ...visit, reason: z.string() }),
  /** With `effect`: the order of its task. */
  fact('phase_recorded', { ...leased, entry: Entry, effect: ProgramEffect.optional() }),
  /** A recorded effect or sleep ended. */
  fact('phase_entry_completed', { ...visit, key: EntryKey, ended: EffectEnd.optional() }),
  fact('phase_suspended', { ...leased, on: z.array(EntryKey) }),
  /** The worker returned the phase, or its lease expired. */
  fact('phase_returned', { ...leased, worker: z.string(), reason: z.string(), lost: z.boolean() }),
  fact('phase_retry_prepared', { ...leased, state: JsonObject }),
  fact('phase_completed', {
    ...leased,
    state: JsonObject,
    output: Json.optional(),
    next: NodeId.optional(),
  }),
  fact('phase_skipped', { ...leased, next: NodeId, reason: z.string() }),
  fact('phase_failed', { ...leased, stage: PhaseFailure.shape.stage, error: ErrorBody }),
  /** The phase is tried again after a delay. `by`: the person who ordered it. */
  fact('phase_retrying', { ...visit, delayMs: z.int().min(0), by: z.string().optional(), ...command }),
  fact('input_requested', {
    ...visit,
    approval: ApprovalId,
    effectId: EffectId,
    effect: CanonicalEffect,
    digest: Digest,
    /** Number of the question within the task. */
    question: z.int().min(1),
    asks: ProgramQuestion,
    /** `phase`: the phase asked; `failure`: Holdpoint asks whether to retry. */
    about: z.enum(['phase', 'failure']),
    state: JsonObject.optional(),
    output: Json.optional(),
  }),
  fact('input_received', { ...visit, approval: ApprovalId, answer: ProgramAnswer }),
  /** A lossless start for forks; `digest` is the digest of the state. */
  fact('state_checkpoint', { node: NodeId, visit: z.int().min(1), digest: Digest, reason: z.string() }),
]);
export type ProgramEvent = z.infer<typeof ProgramEvent>;
