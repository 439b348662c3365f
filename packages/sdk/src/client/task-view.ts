import type { ApprovalId } from '@holdpoint/contracts/values/ids';
import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import type { KnownFact } from './facts.ts';

/** A question that waits for people. */
export type OpenInput = { readonly approval: ApprovalId; readonly phase: string };

/** What the events of a task add up to, as far as its clients want to know it. */
export type Story = {
  readonly state: JsonObject;
  /** As the last phase that was completed has left it: what an attempt that fails leads back to. */
  readonly settled: JsonObject;
  readonly input?: OpenInput | undefined;
  /** What the last phase came to. */
  readonly output?: Json | undefined;
  /** The versions at which the phases were come to, the latest of each. */
  readonly reached: Readonly<Record<string, number>>;
};

export const nothing: Story = { state: {}, settled: {}, reached: {} };

const settled = (story: Story, state: JsonObject): Story => ({ ...story, state, settled: state });

const without = ({ input: _, ...story }: Story): Story => story;

const reaching = (story: Story, phase: string | undefined, version: number): Story =>
  phase === undefined ? story : { ...story, reached: { ...story.reached, [phase]: version } };

/** What one event adds. */
export const told = (story: Story, fact: KnownFact, version: number): Story => {
  switch (fact.type) {
    case 'program_submitted':
      return reaching(settled(story, fact.state), fact.forkedFrom?.node ?? fact.program.initial, version);
    case 'phase_retried':
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
    case 'phase_informed':
    case 'phase_suspended':
    case 'phase_returned':
    case 'state_checkpoint':
      return story;
  }
};
