import type { AttemptReport } from '@holdpoint/contracts/workflow/attempt';
import type { FailureClass } from '@holdpoint/contracts/workflow/failure-class';
import type { StepResult } from '@holdpoint/contracts/task/step';
import type { Choices } from '../choices.ts';

/** Error output as real tools print it, one sample for each failure class. */
const SIGNS = {
  BROKEN_BUILD: {
    exitCode: 101,
    hint: 'error[E0308]: mismatched types\nerror: could not compile `simulated`',
  },
  VERIFICATION_FAILED: { exitCode: 1, hint: 'error: test failed, to rerun pass `--lib`' },
  CONTEXT_EXHAUSTED: { exitCode: 1, report: { stop: 'context_exhausted', next: 'the other half' } },
  TRANSIENT: { exitCode: 75 },
  UNKNOWN: { exitCode: 3 },
} as const satisfies Partial<
  Record<FailureClass, Pick<StepResult, 'exitCode' | 'hint'> & { readonly report?: AttemptReport }>
>;

const CLASSES = Object.keys(SIGNS) as (keyof typeof SIGNS)[];
/** Few approaches, so that agents repeat some. */
const APPROACHES = [
  'replace the parser with a hand-written state machine',
  'cache the compiled templates in a map by path',
  'retry the upload with exponential backoff',
  'move the lock into the transaction of the caller',
];

/** Most jobs always fail in the same way, some in another way each time. */
export const failureAt = (
  choices: Choices,
  job: string,
  place: string,
): Pick<StepResult, 'exitCode' | 'hint' | 'report'> => {
  const own = choices.happens(`its own way ${place}`, 0.4);
  const drawn = choices.pick(own ? `class ${place}` : `usual class of ${job}`, CLASSES);
  const { exitCode, ...said } = SIGNS[drawn];
  return { exitCode, hint: `hint of ${place}`, ...said };
};

export const reportAt = (choices: Choices, place: string): AttemptReport => ({
  ...(choices.happens(`says what it tried ${place}`, 0.8) && {
    approach: choices.pick(`approach ${place}`, APPROACHES),
  }),
  usage: {
    inputTokens: Math.floor(choices.between(`tokens ${place}`, 0, 100)),
    costUsd: choices.pick(`cost ${place}`, [0, 0.25, 0.5]),
    durationMs: Math.floor(choices.between(`takes ${place}`, 0, 1_000)),
  },
});
