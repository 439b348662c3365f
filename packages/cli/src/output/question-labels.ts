import type { Question } from '@holdpoint/contracts/approval/question';

/** Short form of each question, for lists. */
export const QUESTION_LABELS: Readonly<Record<Question, string>> = {
  effect: 'may it run?',
  in_doubt: 'did it happen?',
  stuck: 'how to continue?',
  input: 'question from the workflow',
};
