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

/** One time that an effect reached the world. */
export type Application = {
  readonly key: string;
  /** Under which start it was sent, where the target knows it. */
  readonly epoch?: number | undefined;
  /** SHA-256 of what arrived, where the target knows it. */
  readonly digest?: string | undefined;
  /** Epoch milliseconds, where the target knows them. */
  readonly at?: number | undefined;
};

/** What effects of the run change, and who counts how often: nothing of Holdpoint has a say in it. */
export interface Target {
  readonly node: NodeId;
  readonly submission: (task: PlannedTask) => z.input<typeof SubmitTask>;
  readonly idempotencyKey: string;
  /** Lets everything happen that is still on its way. */
  readonly release: () => Promise<void>;
  /** Everything that was applied, also what nobody here has ordered. */
  readonly applications: () => Promise<readonly Application[]>;
  /** What each request for this effect should have looked like. */
  readonly expectedDigest: (task: PlannedTask) => string | undefined;
  /** Where tasks may have graphs with work in them. */
  readonly graphs?: {
    /** What their scripts have written. */
    readonly work: () => Promise<readonly WorkLine[]>;
    /** What was kept when their worktrees went back. */
    readonly saved: () => Promise<readonly SavedWork[]>;
  };
  /** Whether programs can have it as their target. */
  readonly programs?: true;
  readonly stop: () => Promise<void>;
}

export const effectOf = ({ node, idempotencyKey }: Target, { id, program }: PlannedTask): EffectId =>
  program === true ? childEffectOf(id) : effectIdOf(id, node, idempotencyKey);

export const approvalOf = ({ node }: Target, { id, program }: PlannedTask, revision = 1): ApprovalId =>
  program === true ? childApprovalOf(id) : approvalIdOf(id, node, revision);
