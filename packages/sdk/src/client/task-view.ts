import type { ApprovalId } from '@holdpoint/contracts/values/ids';
import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import type { ClientEvent } from './client-event.ts';

/** A question that waits for people. */
export type OpenInput = { readonly approval: ApprovalId; readonly phase: string };

/** What the events of a task add up to, as far as its clients want to know it. */
export type TaskView = {
  readonly state: JsonObject;
  /** As the last phase that was completed has left it: what an attempt that fails leads back to. */
  readonly settled: JsonObject;
  readonly input?: OpenInput | undefined;
  /** What the last phase came to. */
  readonly output?: Json | undefined;
  /** The versions at which the phases were come to, the latest of each. */
  readonly reached: Readonly<Record<string, number>>;
};

export const emptyView: TaskView = { state: {}, settled: {}, reached: {} };

const settled = (story: TaskView, state: JsonObject): TaskView => ({ ...story, state, settled: state });

const without = ({ input: _, ...story }: TaskView): TaskView => story;

const reaching = (story: TaskView, phase: string | undefined, version: number): TaskView =>
  phase === undefined ? story : { ...story, reached: { ...story.reached, [phase]: version } };

/** What one event adds. */
export const applyEvent = (story: TaskView, fact: ClientEvent, version: number): TaskView => {
  switch (fact.type) {
    case 'program_submitted':
      return reaching(settled(story, fact.state), fact.forkedFrom?.node ?? fact.program.initial, version);
    case 'phase_retry_prepared':
      return { ...story, state: fact.state };
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
        input: { approval: fact.approval, phase: fact.node },
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
