import type { WorkRequest, WorkAnswer } from '@holdpoint/contracts/program/work';
import type { StoredArtifact } from '@holdpoint/contracts/effect/stored-artifact';
import type { Json } from '@holdpoint/contracts/values/json';

/** What a worker hears of a task that it works on: at once or not at all. */
export type TaskNews =
  /** Something that a phase has recorded has ended. */
  | { readonly kind: 'informed'; readonly key: string }
  | { readonly kind: 'cancelled'; readonly reason: string };

/** What an artifact is called, and where it comes from. */
export type ArtifactOrigin = {
  readonly name: string;
  readonly mediaType: string;
  readonly task: string;
  readonly node: string;
  readonly attempt: number;
};

/** The world as a phase sees it: the orchestrator, and the store of artifacts. */
export interface WorkPort {
  /** Asks once. Throws `HoldpointError`: `RUNTIME_UNAVAILABLE` when no answer came, or what it was refused with. */
  say(said: WorkRequest): Promise<WorkAnswer>;
  keep(content: Uint8Array, origin: ArtifactOrigin): Promise<StoredArtifact>;
  /** Throws when it is gone, or is not what its name says. */
  fetch(artifact: StoredArtifact): Promise<Uint8Array>;
  /** Returns what ends it. */
  listen(task: string, hear: (news: TaskNews) => void): () => void;
}

/** A line that a worker, or a phase of it, has to say. */
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
