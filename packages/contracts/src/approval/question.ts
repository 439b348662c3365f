import { Answer, type Choice, type RequestApproval, StuckAnswer } from './commands.ts';
import { type Member, mayDecide } from '../workflow/audience.ts';
import type { ApprovalView } from './views.ts';
import { policyOf, type Question, questionOf } from '../workflow/approval-policy.ts';
import { InDoubtAnswer } from '../effect/grant.ts';

export { policyOf, type Question, questionOf } from '../workflow/approval-policy.ts';

/** Valid decisions on a request. */
export const choicesOf = (
  request: Pick<RequestApproval, 'policy' | 'inDoubt' | 'stuck' | 'input'>,
): readonly Choice[] => {
  switch (questionOf(request)) {
    case 'effect':
      return policyOf(request).decisions;
    case 'in_doubt':
      return InDoubtAnswer.options;
    case 'stuck':
      return StuckAnswer.options;
    case 'input':
      return ['respond'];
  }
};

/** Whether a decision of this person would count now. Four eyes hold for agents of every request. */
export const mayDecideNow = (
  person: Member & { readonly scopes?: readonly string[] | undefined; readonly agent?: string | undefined },
  { status, audience, floor, requestedBy, ...question }: ApprovalView,
): boolean =>
  status === 'pending' &&
  (person.scopes?.includes('approvals:decide') ?? true) &&
  mayDecide({ audience, floor }, person) &&
  !((policyOf(question).fourEyes || person.agent !== undefined) && requestedBy === person.name);

/** The answer to a question; undefined for decisions on effects, whose outcome says everything. */
export const answerIn = (choice: Choice): Answer | undefined => Answer.safeParse(choice).data;

export const ASKS: Readonly<Record<Question, string>> = {
  effect: 'whether an effect may run',
  in_doubt: 'whether it happened',
  stuck: 'how to continue a stuck job',
  input: 'input for a workflow',
};

/** Command that shows the full report of a stuck job, for surfaces without room for it. */
export const reportCommand = (job: string): string => `holdpoint recovery report ${job}`;
