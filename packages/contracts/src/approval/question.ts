import { Answer, type Choice, type RequestApproval, StuckAnswer } from './commands.ts';
import { policyOf, type Question, questionOf } from '../workflow/approval-policy.ts';
import { InDoubtAnswer } from '../effect/grant.ts';

export { policyOf, type Question, questionOf } from '../workflow/approval-policy.ts';

/** What can be said of what is asked. */
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

/** What is said to a question; undefined for what is said of an effect that is to run, which the outcome says all of. */
export const answerIn = (choice: Choice): Answer | undefined => Answer.safeParse(choice).data;

/** What each of them asks. */
export const ASKS: Readonly<Record<Question, string>> = {
  effect: 'whether it may run',
  in_doubt: 'what became of it',
  stuck: 'what is to become of a job that is stuck',
  input: 'what a program wants to know',
};

/** What shows the whole report on a job that is stuck, for where there is no room for it. */
export const reportCommand = (job: string): string => `holdpoint recovery report ${job}`;
