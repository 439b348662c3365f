import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import type { Choice, StuckAnswer } from '@holdpoint/contracts/approval/commands';
import { policyOf, questionOf } from '@holdpoint/contracts/workflow/approval-policy';
import type { InputRequest } from '@holdpoint/contracts/workflow/input';
import type { InDoubtAnswer } from '@holdpoint/contracts/effect/grant';

/** A possible decision and its consequence. */
export type Option = { readonly choice: Choice; readonly label: string; readonly follows: string };

const option = (choice: Choice, label: string, follows: string): Option => ({ choice, label, follows });

const EFFECT = {
  approve: option('approve', 'Approve', 'this exact effect runs, once'),
  reject: option('reject', 'Reject', 'it does not run, and the task receives the reason'),
  request_changes: option('request_changes', 'Request changes', 'the task receives your comment'),
} as const;
const DOUBT: Readonly<Record<InDoubtAnswer, Option>> = {
  applied: option('applied', 'It happened', 'record it as applied and continue the task'),
  not_applied: option(
    'not_applied',
    'It did not happen',
    'the step fails, and the task continues accordingly',
  ),
  retry: option('retry', 'Run it again', 'run it again, whether it happened or not'),
};
const STUCK: Readonly<Record<StuckAnswer, Option>> = {
  retry: option('retry', 'Try again', 'the next attempt receives your comment'),
  skip: option('skip', 'Skip', 'continue after it'),
  done: option('done', 'Mark as done', 'done by hand: count it as done'),
  cancel: option('cancel', 'Cancel it', 'it ends as cancelled'),
};

const YES_OR_NO: readonly Option[] = [
  option('approve', 'Yes', 'the workflow continues with yes'),
  option('reject', 'No', 'the workflow continues with no'),
];

/** A question with its own answers: a choice, a text, or a form. */
export type InputQuestion = Exclude<InputRequest, { readonly kind: 'approval' }>;

/** The requested input, if it is more than yes or no. */
export const inputOf = ({ input }: Pick<ApprovalView, 'input'>): InputQuestion | undefined =>
  input === undefined || input.kind === 'approval' ? undefined : input;

/** The possible decisions. */
export const optionsFor = (approval: ApprovalView): readonly Option[] => {
  switch (questionOf(approval)) {
    case 'effect':
      return policyOf(approval).decisions.map((choice) => EFFECT[choice]);
    case 'in_doubt':
      return Object.values(DOUBT);
    case 'stuck':
      return Object.values(STUCK);
    case 'input':
      return YES_OR_NO;
  }
};

/** The question as a sentence. */
export const askedOf = (approval: ApprovalView): string => {
  switch (questionOf(approval)) {
    case 'effect':
      return 'Approve this effect?';
    case 'in_doubt':
      return 'Did this happen?';
    case 'stuck':
      return 'How should this job continue?';
    case 'input':
      return 'A question for you';
  }
};
