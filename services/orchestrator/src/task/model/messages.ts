import type { ApprovalResolved } from '@holdpoint/contracts/approval/events';
import type { CommandOf } from '@holdpoint/contracts/catalog/commands';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { CommandId, TaskId } from '@holdpoint/contracts/values/ids';
import type { Json } from '@holdpoint/contracts/values/json';
import type { CarriedNode } from '@holdpoint/contracts/task/events';
import type { Task } from './state.ts';

type Command = Exclude<CommandOf<'orchestrator'>, { readonly kind: 'registry' }> & { readonly task: TaskId };
/** What names the thing it changes so that a repeat finds it changed. */
type IdempotentCommand =
  | Extract<Command, { readonly kind: 'recover' | 'circuit_state' | 'watch' | 'notify' }>
  | Submission;

/** A submission, and which circuits of workflows were open as far as whoever took it knew. */
type Submission = Extract<Command, { readonly kind: 'submit' }> & {
  readonly openCircuits?: readonly string[];
};
/** What a person wants. `pause` after `resume` is no repeat, so only the message itself can tell that it is one. */
export type OperatorCommand = Exclude<
  Command,
  { readonly kind: 'submit' | 'recover' | 'circuit_state' | 'watch' | 'notify' }
> & { readonly commandId: CommandId };

/** A task as it was at one version, and what of it a fork takes over. */
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

/** Everything that a task may be told. `task` is the aggregate. */
export type TaskMessage =
  | IdempotentCommand
  | OperatorCommand
  | ForkTask
  | { readonly kind: 'approval'; readonly fact: ApprovalResolved }
  | { readonly kind: 'effect'; readonly fact: EffectEvent }
  | { readonly kind: 'timer'; readonly name: string; readonly data: Json };
