import type { CommandOf } from '@holdpoint/contracts/catalog';
import type { ApprovalEvent } from '@holdpoint/contracts/approval';
import type { EffectEvent } from '@holdpoint/contracts/effect';
import type { TaskId } from '@holdpoint/contracts/ids';
import type { Json } from '@holdpoint/contracts/json';

/** Everything that a task may be told. `task` is the aggregate. */
export type TaskMessage =
  | (CommandOf<'orchestrator'> & { readonly task: TaskId })
  | { readonly kind: 'approval'; readonly fact: ApprovalEvent }
  | { readonly kind: 'effect'; readonly fact: EffectEvent }
  | { readonly kind: 'timer'; readonly name: string; readonly data: Json };
