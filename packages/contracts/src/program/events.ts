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

/** What a forked task takes over: everything as it was at the beginning of the visit that was reached. */
export const ForkedProgram = z.object({
  task: TaskId,
  version: z.int().min(1),
  node: NodeId,
  /** Effects that had happened. */
  entries: z.array(Entry),
});
export type ForkedProgram = z.infer<typeof ForkedProgram>;

/** The phases of {@link TaskPhase} that a task of a program can be in. */
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

/** What becomes of a task whose workflow is a program, beside what it shares with others: `paused`, `completed`, … */
export const ProgramEvent = z.discriminatedUnion('type', [
  fact('program_submitted', {
    goal: z.string(),
    acceptanceCriteria: z.array(z.string()),
    inputs: JsonObject,
    requestedBy: z.string(),
    /** The agent that has submitted it for him. */
    agent: AgentName.optional(),
    program: ProgramDefinition,
    hash: ProgramHash,
    state: JsonObject,
    repository: z.string().optional(),
    forkedFrom: ForkedProgram.optional(),
    at: z.int(),
    contentDigest: Digest,
  }),
  /** Somebody is to work on a phase. */
  fact('phase_ordered', { ...leased, activation: Activation }),
  fact('phase_started', { ...leased, worker: z.string() }),
  /** Nobody has taken it so far. */
  fact('phase_waiting', { ...visit, reason: z.string() }),
  /** With `effect`: what its task is asked to do. */
  fact('phase_recorded', { ...leased, entry: Entry, effect: ProgramEffect.optional() }),
  /** Something that it recorded has ended: an effect, or a sleep. */
  fact('phase_entry_completed', { ...visit, key: EntryKey, ended: EffectEnd.optional() }),
  fact('phase_suspended', { ...leased, on: z.array(EntryKey) }),
  /** The worker stopped, or was not heard of any more. */
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
  /** It is tried again after a while. With `by`: a person has said so. */
  fact('phase_retrying', { ...visit, delayMs: z.int().min(0), by: z.string().optional(), ...command }),
  fact('input_requested', {
    ...visit,
    approval: ApprovalId,
    effectId: EffectId,
    effect: CanonicalEffect,
    digest: Digest,
    /** Counts the questions of the task. */
    question: z.int().min(1),
    asks: ProgramQuestion,
    /** `phase`: the phase has asked; `failure`: whether it is to be tried again. */
    about: z.enum(['phase', 'failure']),
    state: JsonObject.optional(),
    output: Json.optional(),
  }),
  fact('input_received', { ...visit, approval: ApprovalId, answer: ProgramAnswer }),
  /** Where a fork may begin without losing anything; `digest` is that of the state. */
  fact('state_checkpoint', { node: NodeId, visit: z.int().min(1), digest: Digest, reason: z.string() }),
]);
export type ProgramEvent = z.infer<typeof ProgramEvent>;
