import type { CommandOf } from '@holdpoint/contracts/catalog';
import type { ApprovalEvent } from '@holdpoint/contracts/approval';
import type { EffectEvent } from '@holdpoint/contracts/effect';
import type { CommandId, TaskId } from '@holdpoint/contracts/ids';
import type { Json } from '@holdpoint/contracts/json';

type Command = CommandOf<'orchestrator'> & { readonly task: TaskId };
/** What names the thing it changes so that a repeat finds it changed. */
type SelfEvident = Extract<Command, { readonly kind: 'submit' | 'recover' }>;
/** What a person wants. `pause` after `resume` is no repeat, so only the message itself can tell that it is one. */
export type ByHand = Exclude<Command, SelfEvident> & { readonly commandId: CommandId };

/** Everything that a task may be told. `task` is the aggregate. */
export type TaskMessage =
  | SelfEvident
  | ByHand
  | { readonly kind: 'approval'; readonly fact: ApprovalEvent }
  | { readonly kind: 'effect'; readonly fact: EffectEvent }
  | { readonly kind: 'timer'; readonly name: string; readonly data: Json };
