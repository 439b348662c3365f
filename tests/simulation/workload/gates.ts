import type { ApprovalPolicy } from '@holdpoint/contracts/workflow/approval-policy';
import type { Gate } from '@holdpoint/contracts/workflow/gate';
import type { Choices } from '../choices.ts';

const PLAIN = 0.45;

/** Every approver and requester of a simulation. */
export const PEOPLE = {
  ada: { name: 'ada', groups: ['operators'] },
  linus: { name: 'linus', groups: ['operators', 'others'] },
  grace: { name: 'grace', groups: ['seniors'] },
  mallory: { name: 'mallory', groups: ['others'] },
} as const;

const randomPolicy = (choices: Choices, place: string, timeoutMs: number): ApprovalPolicy => {
  const chance = (what: string, probability: number): boolean =>
    choices.happens(`${what} of ${place}`, probability);
  const after = (share: number): number => Math.max(1_000, Math.floor(timeoutMs * share));
  return {
    ...(chance('quorum', 0.3) && { quorum: 2 }),
    ...(chance('four eyes', 0.25) && { fourEyes: true }),
    ...(chance('no veto', 0.2) && { veto: false }),
    ...(chance('no rules', 0.2) && { rules: false }),
    ...(chance('reminders', 0.3) && { remindMs: [after(0.3), after(0.6)] }),
    ...(chance('hand on', 0.3) && { handOn: [{ afterMs: after(0.5), audience: ['seniors'] }] }),
    ...(chance('expiry', 0.4) && {
      onExpiry: choices.pick(`expiry of ${place}`, ['expire', 'reject', 'request_changes'] as const),
    }),
  };
};

/** A branch with a checkpoint of its own, and one that returns refused work. */
const randomBranches = (choices: Choices, place: string): Pick<Gate, 'resumePolicy' | 'resumeBranches'> =>
  choices.happens(`branches of ${place}`, 0.4)
    ? {
        resumePolicy: 'branches',
        resumeBranches: [
          {
            when: 'task.approvals.latest.status == "approved"',
            emit: 'resume_executor',
            checkpoints: [{ checkpoint: 'agreed', payload: { by: '{{ lobster.actor }}' } }],
          },
          {
            when: 'task.approvals.latest.status in ["rejected", "request_changes"]',
            emit: 'return_to_orchestrator',
            phase: 'execution_ready',
          },
        ],
      }
    : { resumePolicy: 'decision', resumeBranches: [] };

/** A random approval template. */
export const randomGate = (choices: Choices, place: string, timeoutMs: number): Gate | undefined =>
  choices.happens(`plain gate of ${place}`, PLAIN)
    ? undefined
    : {
        id: 'simulated',
        version: '1',
        inputs: {},
        given: {},
        loadContext: ['task', 'node', 'outputs', 'attempts', 'checkpoints'],
        request: {
          onOpen: [{ checkpoint: 'asked' }],
          ...(choices.happens(`body of ${place}`, 0.5) && {
            body:
              '{{ task.spec.goal }} {{ task.reviews.spec.latest_verdict }} {{ task.artifacts.primary.latest.uri }}' +
              '{% for attempt in attempts %} {{ attempt.error }}{% endfor %}',
          }),
        },
        policy: randomPolicy(choices, place, timeoutMs),
        timeoutMs: {},
        onDecision: {},
        ...randomBranches(choices, place),
        recovery: {},
        constraints: [],
      };
