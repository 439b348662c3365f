import { isEndPhase } from '@holdpoint/contracts/task/status';
import { isGivingUp } from '@holdpoint/contracts/workflow/failure-class';
import { canonicalJson, type JsonObject } from '@holdpoint/contracts/values/json';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { Outgoing } from '@holdpoint/runtime/decider';
import type { Step } from '@holdpoint/runtime/testing/run';
import type { TaskMessage } from '../src/task/model/messages.ts';
import { findNode, type TaskState } from '../src/task/model/state.ts';

/** The fields of a command that the tests use. */
type Said = {
  readonly id?: string;
  readonly node?: NodeId;
  readonly attempt?: number;
  readonly grant?: string;
  readonly refused?: string;
  readonly effect?: { readonly node: NodeId };
};
type Question = { readonly purpose: string; readonly node: NodeId | undefined; readonly said: Said };

const questionOf = ({ subject, data }: Outgoing): Question => {
  const [, , aggregate, name] = subject.split('.');
  const said = data as Said;
  return { purpose: `${String(aggregate)}.${String(name)}`, node: said.node ?? said.effect?.node, said };
};

/** Identifies a request across its repeats. */
export const keyOf = ({ subject, data }: Pick<Outgoing, 'subject' | 'data'>): string => {
  // Other events are reported as they are.
  const { effects: _, ...asked } = data as JsonObject;
  return `${subject} ${canonicalJson(asked)}`;
};

type EffectFact = Extract<TaskMessage, { kind: 'effect' }>['event'];

const endsAttempt = (event: EffectFact, { attempt, grant }: Said): boolean => {
  if (event.attempt !== attempt) return false;
  if (event.type === 'refused') return event.order.grant === grant;
  return event.type === 'in_doubt'
    ? event.next === 'person'
    : event.type === 'failed_clean' || event.type === 'cancelled' || event.type === 'not_applied';
};

/** The ordered effect of each node: `applied` answers every request about the node. */
type EffectOf = ReadonlyMap<NodeId | undefined, string | undefined>;

/** Whether a message answers a request: the table of docs/architecture.md in reverse. */
const answers = (message: TaskMessage, { purpose, node, said }: Question, effectOf: EffectOf): boolean => {
  switch (message.kind) {
    case 'approval': {
      const { event } = message;
      return (
        purpose.startsWith('approval.') &&
        event.type === 'resolved' &&
        event.node === node &&
        event.id === said.id
      );
    }
    case 'effect': {
      const { event } = message;
      if (event.node !== node || event.id !== effectOf.get(node)) return false;
      if (event.type === 'applied') return !purpose.startsWith('approval.');
      if (purpose === 'effect.run') return endsAttempt(event, said);
      const over =
        event.type === 'cancelled' ||
        event.type === 'not_applied' ||
        (event.type === 'in_doubt' && event.next === 'person');
      return purpose === 'effect.cancel' && over;
    }
    case 'recover': {
      const { payload } = message;
      const isAbout = payload.node === node && payload.attempt === said.attempt;
      // A refused verdict is no answer.
      const isHeard = said.refused === undefined || isGivingUp(payload.verdict);
      return purpose === 'recovery.assess' && isAbout && isHeard;
    }
    default:
      return false;
  }
};

/** Messages without a reply. */
const NO_QUESTION: ReadonlySet<string> = new Set(['recovery.record_attempt', 'recovery.job_unstuck']);

const TAKES_BACK: Readonly<Record<string, string>> = {
  'approval.cancel': 'approval.request',
  'effect.cancel': 'effect.run',
};

/** The unanswered requests after each step of a run, derived from the messages alone. */
export const openQuestions = (
  run: readonly Step<TaskState, TaskMessage, unknown, never>[],
): readonly ReadonlyMap<string, Outgoing>[] => {
  const open = new Map<string, Outgoing>();
  const effectOf = new Map<NodeId | undefined, string | undefined>();
  return run.map(({ message, made, after }) => {
    for (const [key, asked] of open) if (answers(message, questionOf(asked), effectOf)) open.delete(key);
    for (const sent of made.send) {
      const { purpose, node, said } = questionOf(sent);
      if (NO_QUESTION.has(purpose)) continue;
      if (purpose === 'effect.run') effectOf.set(node, said.id);
      for (const [key, asked] of open) {
        const { purpose: other, said: about } = questionOf(asked);
        if (other === TAKES_BACK[purpose] && about.id === said.id) open.delete(key);
      }
      open.set(keyOf(sent), sent);
    }
    const ended = after.phase !== 'absent' && isEndPhase(after.phase);
    // An in-doubt answer is resent until the executor reports, or the node has ended.
    for (const [key, asked] of open) {
      const { purpose, node } = questionOf(asked);
      const isSaid =
        after.phase !== 'absent' && node !== undefined && findNode(after, node)?.inDoubt?.answered;
      if (purpose === 'effect.resolve' && !isSaid) open.delete(key);
    }
    // An obsolete verdict request is harmless and is not withdrawn.
    for (const [key, asked] of open) {
      const { purpose, node } = questionOf(asked);
      const waits = !ended && after.phase !== 'absent' && node !== undefined;
      const isWanted = waits && findNode(after, node)?.status === 'recovering';
      if (purpose === 'recovery.assess' && !isWanted) open.delete(key);
    }
    return new Map(open);
  });
};
