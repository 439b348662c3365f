import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import type { ApprovalId } from '@holdpoint/contracts/values/ids';
import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import type { ClientEvent } from './client-event.ts';

/** An open question. */
/** The open question, with the digest of the effect in the history: an answer is bound to it. */
export type OpenInput = { readonly approval: ApprovalId; readonly phase: string; readonly digest: string };

/** The state that clients derive from the events of a task. */
export type TaskView = {
  readonly state: JsonObject;
  /** The state at the start of the present attempt; a failed attempt falls back to it. */
  readonly settled: JsonObject;
  readonly input?: OpenInput | undefined;
  /** The output of the last phase. */
  readonly output?: Json | undefined;
  /** The version of the latest arrival at each phase. */
  readonly reached: Readonly<Record<string, number>>;
};

export const emptyView: TaskView = { state: {}, settled: {}, reached: {} };

const settled = (story: TaskView, state: JsonObject): TaskView => ({ ...story, state, settled: state });

const without = ({ input: _, ...story }: TaskView): TaskView => story;

const reaching = (story: TaskView, phase: string | undefined, version: number): TaskView =>
  phase === undefined ? story : { ...story, reached: { ...story.reached, [phase]: version } };

export const applyEvent = (story: TaskView, fact: ClientEvent, version: number): TaskView => {
  switch (fact.type) {
    case 'program_submitted':
      return reaching(settled(story, fact.state), fact.forkedFrom?.node ?? fact.program.initial, version);
    case 'phase_retry_prepared':
      return settled(story, fact.state);
    case 'phase_completed':
      return reaching({ ...settled(story, fact.state), output: fact.output }, fact.next, version);
    case 'phase_skipped':
      return reaching(story, fact.next, version);
    case 'phase_failed':
      return { ...story, state: story.settled };
    case 'input_requested':
      return {
        ...story,
        ...(fact.state !== undefined && { state: fact.state }),
        input: { approval: fact.approval, phase: fact.node, digest: effectDigest(fact.effect) },
      };
    case 'input_received':
    case 'phase_retrying':
    case 'completed':
    case 'failed':
    case 'cancelled':
      return without(story);
    case 'phase_ordered':
    case 'phase_started':
    case 'phase_waiting':
    case 'phase_recorded':
    case 'phase_entry_completed':
    case 'phase_suspended':
    case 'phase_returned':
    case 'state_checkpoint':
      return story;
  }
};
