import {
  approvalIdOf,
  type ApprovalId,
  effectIdOf,
  type EffectId,
  type NodeId,
} from '@holdpoint/contracts/values/ids';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import type { z } from 'zod';
import type { PlannedTask } from './planned.ts';
import { childApprovalOf, childEffectOf } from './program.ts';
import type { SavedWork } from './saved-work.ts';
import type { WorkLine } from './script-log.ts';

/** One application of an effect by the target. */
export type Application = {
  readonly key: string;
  /** The epoch of the start, if the target knows it. */
  readonly epoch?: number | undefined;
  /** The SHA-256 of the request, if the target knows it. */
  readonly digest?: string | undefined;
  /** Epoch milliseconds, if the target knows them. */
  readonly at?: number | undefined;
};

/** The target of a run's effects, which counts applications independently of Holdpoint. */
export interface Target {
  readonly node: NodeId;
  readonly submission: (task: PlannedTask) => z.input<typeof SubmitTask>;
  readonly idempotencyKey: string;
  /** Lets delayed requests arrive. */
  readonly release: () => Promise<void>;
  /** Every application, also of unknown keys. */
  readonly applications: () => Promise<readonly Application[]>;
  /** The digest of each request for this effect. */
  readonly expectedDigest: (task: PlannedTask) => string | undefined;
  /** Present where tasks may have graphs. */
  readonly graphs?: {
    /** The lines of their scripts. */
    readonly work: () => Promise<readonly WorkLine[]>;
    /** The commits and files that rollbacks saved. */
    readonly saved: () => Promise<readonly SavedWork[]>;
  };
  /** Whether programs can use this target. */
  readonly programs?: true;
  readonly stop: () => Promise<void>;
}

export const effectOf = ({ node, idempotencyKey }: Target, { id, program }: PlannedTask): EffectId =>
  program === true ? childEffectOf(id) : effectIdOf(id, node, idempotencyKey);

export const approvalOf = ({ node }: Target, { id, program }: PlannedTask, revision = 1): ApprovalId =>
  program === true ? childApprovalOf(id) : approvalIdOf(id, node, revision);
