import type { Question } from '@holdpoint/contracts/approval/question';

/** What is asked, in as few words as a cell of a list has room for. */
export const ASKED: Readonly<Record<Question, string>> = {
  effect: 'may it run?',
  doubt: 'did it happen?',
  stuck: 'what now?',
  input: 'a program asks',
};
