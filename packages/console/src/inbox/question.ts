import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import type { Choice, StuckAnswer } from '@holdpoint/contracts/approval/commands';
import { policyOf, questionOf } from '@holdpoint/contracts/workflow/approval-policy';
import type { InputRequest } from '@holdpoint/contracts/workflow/input';
import type { InDoubtAnswer } from '@holdpoint/contracts/effect/grant';

/** What can be said, and what follows from it. */
export type Option = { readonly choice: Choice; readonly label: string; readonly follows: string };

const option = (choice: Choice, label: string, follows: string): Option => ({ choice, label, follows });

const EFFECT = {
  approve: option('approve', 'Approve', 'exactly this is carried out, once'),
  reject: option('reject', 'Reject', 'it is not carried out, and the task hears why'),
  request_changes: option('request_changes', 'Request changes', 'the task goes back with your comment'),
} as const;
const DOUBT: Readonly<Record<InDoubtAnswer, Option>> = {
  applied: option('applied', 'It happened', 'it is recorded as done, and the task goes on'),
  not_applied: option(
    'not_applied',
    'It did not happen',
    'the step has failed, and the task follows from that',
  ),
  retry: option('retry', 'Do it once more', 'whether it happened or not, it is done again'),
};
const STUCK: Readonly<Record<StuckAnswer, Option>> = {
  retry: option('retry', 'Try it once more', 'whoever tries is told your comment'),
  skip: option('skip', 'Leave it out', 'what follows it goes on'),
  done: option('done', 'It is done', 'somebody has done it by hand: it counts as done'),
  cancel: option('cancel', 'Give it up', 'it ends as cancelled'),
};

const YES_OR_NO: readonly Option[] = [
  option('approve', 'Yes', 'the program goes on with yes'),
  option('reject', 'No', 'the program goes on with no'),
];

/** A question with an answer of its own: one of several, a text, or a form. */
export type InputQuestion = Exclude<InputRequest, { readonly kind: 'approval' }>;

/** What a request wants that is more than yes or no. */
export const inputOf = ({ input }: Pick<ApprovalView, 'input'>): InputQuestion | undefined =>
  input === undefined || input.kind === 'approval' ? undefined : input;

/** What can be said of what is asked. */
export const optionsFor = (approval: ApprovalView): readonly Option[] => {
  switch (questionOf(approval)) {
    case 'effect':
      return policyOf(approval).decisions.map((choice) => EFFECT[choice]);
    case 'doubt':
      return Object.values(DOUBT);
    case 'stuck':
      return Object.values(STUCK);
    case 'input':
      return YES_OR_NO;
  }
};

/** What is asked, in a sentence. */
export const askedOf = (approval: ApprovalView): string => {
  switch (questionOf(approval)) {
    case 'effect':
      return 'May this be carried out?';
    case 'doubt':
      return 'Did this happen?';
    case 'stuck':
      return 'What is to become of this job?';
    case 'input':
      return 'A question for you';
  }
};
