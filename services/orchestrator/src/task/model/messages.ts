import type { ApprovalResolved } from '@holdpoint/contracts/approval/events';
import type { CommandOf } from '@holdpoint/contracts/catalog/commands';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { CommandId, TaskId } from '@holdpoint/contracts/values/ids';
import type { Json } from '@holdpoint/contracts/values/json';
import type { CarriedNode } from '@holdpoint/contracts/task/events';
import type { TaskEvidence } from '@holdpoint/contracts/workflow/review';
import type { Sender } from './sender.ts';
import type { Task } from './state.ts';

type Command = Exclude<CommandOf<'orchestrator'>, { readonly kind: 'registry' }> & { readonly task: TaskId };
/** A repeat of such a command finds its change in the state. */
type IdempotentCommand =
  | Extract<Command, { readonly kind: 'recover' | 'circuit_state' | 'watch' | 'notify' | 'callback_taken' }>
  | Submission;

/** A submission, with the circuits that were open when it was received. Its payload names the sender. */
export type Submission = Extract<Command, { readonly kind: 'submit' }> & {
  readonly openCircuits?: readonly string[];
  /** Reviews and artifact of the task that it belongs to, which exists. */
  readonly origin?: TaskEvidence;
  /** Left out: unverified. */
  readonly sender?: Sender;
  /** The errors of its definition, if they have been looked for already. */
  readonly invalid?: readonly string[];
};
/** A command of an operator. `pause` after `resume` is no repeat, so only the command id identifies one. */
export type OperatorCommand = Exclude<
  Command,
  { readonly kind: 'submit' | 'recover' | 'circuit_state' | 'watch' | 'notify' | 'callback_taken' }
> & {
  readonly commandId: CommandId;
  /** Left out: unverified. */
  readonly sender?: Sender;
};

/** The origin of a fork at one version, and its results that the fork takes over. */
export type ForkTask = {
  readonly kind: 'fork';
  readonly task: TaskId;
  readonly origin: Pick<
    Task,
    'id' | 'version' | 'goal' | 'acceptanceCriteria' | 'inputs' | 'definition' | 'workflow' | 'repository'
  >;
  readonly carried: Readonly<Record<string, CarriedNode>>;
  readonly by: string;
};

/** A message to a task; `task` is the aggregate id. */
export type TaskMessage =
  | IdempotentCommand
  | OperatorCommand
  | ForkTask
  | { readonly kind: 'approval'; readonly event: ApprovalResolved }
  | { readonly kind: 'effect'; readonly event: EffectEvent }
  | { readonly kind: 'timer'; readonly name: string; readonly data: Json };
