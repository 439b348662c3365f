import type { AssessFailure } from '@holdpoint/contracts/recovery/commands';
import { errorText, type Verdict } from '@holdpoint/contracts/recovery/verdict';
import { failuresSinceSuccess, type History } from './history.ts';
import { fenced, oneLine } from './markdown.ts';

/** Attempts described in full; earlier ones are only counted. */
const ATTEMPTS_SHOWN = 5;
/** Characters of the last output. */
const OUTPUT_CHARACTERS = 8_000;
const APPROACH_CHARACTERS = 1_000;

type HintAttempt = {
  readonly number: number;
  readonly approach: string | undefined;
  readonly error: string;
};

const hintAttempts = (history: History, failure: AssessFailure, verdict: Verdict): readonly HintAttempt[] => [
  ...failuresSinceSuccess(history, failure.node).map(({ attempt, report, error, verdict: its }) => ({
    number: attempt,
    approach: report?.approach,
    error: errorText(error, its),
  })),
  {
    number: failure.attempt,
    approach: failure.report?.approach,
    error: errorText(failure.error, verdict),
  },
];

const attemptText = ({ number, approach, error }: HintAttempt): readonly string[] => [
  `- Attempt ${String(number)}: ${approach === undefined ? 'approach not reported' : oneLine(approach, APPROACH_CHARACTERS).replace(/[.!]$/, '')}: failed.`,
  `  Error: ${oneLine(error, 600)}`,
];

/** Instructions for the next attempt, by verdict. */
const INSTRUCTIONS: Readonly<
  Record<'tryDifferently' | 'afterRollback' | 'repeat' | 'continueWork', readonly string[]>
> = {
  tryDifferently: [
    'Take a different approach from those above: another library, another pattern, or a simpler solution that does less.',
    'First state in one sentence what you will do differently.',
  ],
  afterRollback: [
    'The last changes broke the build and were rolled back: the files are as they were before.',
    'Take a different approach from those above: another library, another pattern, or a simpler solution that does less. Build before you are done.',
  ],
  repeat: ['The last attempt failed for an external reason. Repeat it.'],
  continueWork: [
    'This session continues the work of an earlier one. Its changes are in the files and in the history of the branch.',
  ],
};

const instructionsFor = ({ kind, class: found }: Verdict): readonly string[] => {
  if (kind === 'rollback') return INSTRUCTIONS.afterRollback;
  if (kind === 'continue') return INSTRUCTIONS.continueWork;
  return found === 'VERIFICATION_FAILED' || found === 'UNKNOWN' || found === 'BROKEN_BUILD'
    ? INSTRUCTIONS.tryDifferently
    : INSTRUCTIONS.repeat;
};

/** Markdown for the next attempt: earlier approaches, their results, and what to do differently. */
export const hintFor = (history: History, failure: AssessFailure, verdict: Verdict): string => {
  const all = hintAttempts(history, failure, verdict);
  const shown = all.slice(-ATTEMPTS_SHOWN);
  const before = all.length - shown.length;
  const { output = '' } = failure;
  return [
    '## Earlier attempts',
    '',
    ...(before > 0 ? [`- ${String(before)} earlier attempts failed as well.`] : []),
    ...shown.flatMap(attemptText),
    '',
    ...instructionsFor(verdict),
    ...(output.trim() === ''
      ? []
      : ['', '### Output of the last attempt', '', fenced(output.slice(-OUTPUT_CHARACTERS).toWellFormed())]),
    '',
  ].join('\n');
};
