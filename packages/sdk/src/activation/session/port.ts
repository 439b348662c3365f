import type { WorkRequest, WorkAnswer } from '@holdpoint/contracts/program/work';
import type { StoredArtifact } from '@holdpoint/contracts/effect/stored-artifact';
import type { Json } from '@holdpoint/contracts/values/json';

/** News about a running task. Delivered at most once. */
export type TaskNews =
  /** A recorded effect or sleep has ended. */
  | { readonly kind: 'informed'; readonly key: string }
  | { readonly kind: 'cancelled'; readonly reason: string };

/** The name and source of an artifact. */
export type ArtifactOrigin = {
  readonly name: string;
  readonly mediaType: string;
  readonly task: string;
  readonly node: string;
  readonly attempt: number;
};

/** The services of a phase: the orchestrator and the artifact store. */
export interface WorkPort {
  /**
   * Sends one request. Throws `HoldpointError`: `RUNTIME_UNAVAILABLE` without an answer, or the
   * orchestrator's reason.
   */
  say(said: WorkRequest): Promise<WorkAnswer>;
  keep(content: Uint8Array, origin: ArtifactOrigin): Promise<StoredArtifact>;
  /** Throws if the artifact is gone or its content does not match its name. */
  fetch(artifact: StoredArtifact): Promise<Uint8Array>;
  /** Returns a function that unsubscribes. */
  listen(task: string, hear: (news: TaskNews) => void): () => void;
}

/** A log line of a worker or a phase. */
export type WorkerLine = {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly workflow?: string;
  readonly task?: string;
  readonly node?: string;
  readonly attempt?: number;
  readonly fields?: { readonly [name: string]: Json };
};
export type WorkerLog = (line: WorkerLine) => void;
