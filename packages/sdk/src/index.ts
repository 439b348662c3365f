export type { AbortCause } from './activation/session/abort.ts';
export { PhaseAborted } from './activation/session/abort.ts';
export type { ConnectOptions } from './bus/connect.ts';
export { connectToBus } from './bus/connect.ts';
export type { Client, ClientOptions, StartOptions } from './client/create-client.ts';
export { createClient } from './client/create-client.ts';
export { WorkflowCancelled, WorkflowFailed } from './client/errors.ts';
export type { WorkflowEvent } from './client/events.ts';
export type { ForkOptions, RespondOptions, WorkflowHandle } from './client/handle.ts';
export type { Ask, Option, Prompt } from './definition/ask.ts';
export { ask } from './definition/ask.ts';
export type {
  ArtifactOptions,
  ArtifactRef,
  EarlierAttempt,
  EffectRequest,
  ItemContext,
  PhaseContext,
  PhaseError,
} from './definition/context.ts';
export type { Frozen } from './definition/frozen.ts';
export type { OnErrorSpec } from './definition/on-error.ts';
export type { AgentPhase, EffectPhase, HumanPhase, Phase, TerminalPhase } from './definition/phase.ts';
export type { PhasesFor } from './definition/phases-for.ts';
export { phasesFor } from './definition/phases-for.ts';
export type { InputOf, OutputOf, StateOf, Workflow, WorkflowSpec } from './definition/workflow.ts';
export { defineWorkflow } from './definition/workflow.ts';
export type { Worker, WorkerOptions } from './worker/start-worker.ts';
export { startWorker } from './worker/start-worker.ts';
export { type NatsOptions, remoteOverNats } from './remote/nats-connection.ts';
export * from './http.ts';
