import type { Principal } from '@holdpoint/approvals/approval/state';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import type { Choices } from '../choices.ts';
import { PEOPLE } from '../workload/gates.ts';

/** An agent acts for one person at a time. Agents of several people may share a name. */
const AGENTS = ['scribe', 'tester'] as const;
const BY_AGENT = 0.35;
const TRIES = 0.3;

const OWNERS: readonly Principal[] = [PEOPLE.ada, PEOPLE.linus];

/** Submits some tasks in the name of an agent. */
export const asSubmitted = <Said extends Pick<SubmitTask, 'requestedBy'>>(
  choices: Choices,
  task: string,
  said: Said,
): Said & Pick<SubmitTask, 'agent'> =>
  OWNERS.some(({ name }) => name === said.requestedBy) && choices.happens(`by an agent ${task}`, BY_AGENT)
    ? { ...said, agent: choices.pick(`agent of ${task}`, AGENTS) }
    : said;

/**
 * The principal of an attempt: the requesting agent, another agent of its owner, or an agent of another
 * person.
 */
export const agentThatTries = (choices: Choices, place: string): Principal | undefined =>
  choices.happens(`an agent tries ${place}`, TRIES)
    ? { ...choices.pick(`owner of ${place}`, OWNERS), agent: choices.pick(`agent at ${place}`, AGENTS) }
    : undefined;
