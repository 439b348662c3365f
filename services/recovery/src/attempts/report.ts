import type { AssessFailure } from '@holdpoint/contracts/recovery/commands';
import type { FailureClass } from '@holdpoint/contracts/workflow/failure-class';
import { errorText, type Verdict } from '@holdpoint/contracts/recovery/verdict';
import { jobOf } from '@holdpoint/contracts/values/ids';
import { type Attempt, type History, isFailure } from './history.ts';
import { fenced, oneLine } from './markdown.ts';

const ATTEMPTS_MAX = 20;
const FILES_MAX = 50;
const EFFECTS_MAX = 30;
const OUTPUT_CHARACTERS = 6_000;

/** Recommended actions by class. */
const ADVICE: Readonly<Record<FailureClass, readonly string[]>> = {
  BROKEN_BUILD: [
    'Build the branch by hand and look at the first error: it often causes the others.',
    'If the build was broken before the task began, fix it there first, then `retry`.',
  ],
  VERIFICATION_FAILED: [
    'Read the failing check: if it contradicts the goal, change one of them, then `retry`.',
    'Fix it by hand on the branch and answer `done`, or add the missing information and `retry`.',
  ],
  CIRCULAR_FIX: [
    'Several attempts took the same approach (listed above): describe another one in the goal or in the repository, then `retry`.',
    'If the listed approaches differ, `retry`; for later runs, set a higher `similarity` in `.holdpoint/recovery.toml` under `[circular]`.',
    'Split the task, or do the failing part by hand and answer `done`.',
  ],
  CONTEXT_EXHAUSTED: [
    'The job needs more sessions than allowed: split it, or `retry` for one more; for later runs, allow more in `.holdpoint/recovery.toml` under `[continue]`.',
  ],
  TRANSIENT: ['Check whether the target is available: `holdpoint circuit list`. Then `retry`.'],
  WORKER_CRASH: [
    'The job crashes its executor: check memory, disk and limits of that machine, and the last output.',
    'After the fix, `retry`; the job is not running now.',
  ],
  EFFECT_IN_DOUBT: [
    'Check the target. A separate question asks whether the effect happened (`holdpoint approval list`).',
  ],
  MISCONFIGURED: [
    'Correct the arguments, the workflow or the settings that the error names; a repeat without a correction fails again.',
    'A running task keeps its workflow: submit it again after a correction there, and `cancel` this job.',
  ],
  UNKNOWN: [
    'No rule classifies this failure yet: if it can recur, add one to `.holdpoint/recovery.toml`.',
    'Read the complete log of the job, then `retry`, `skip` or `cancel`.',
  ],
};

/** For a job that its template or gate hands to operators. */
const PAUSED_ADVICE: readonly string[] = [
  'The template or the gate wants your decision; the verdict above names the reason.',
  'Change the inputs, the repository or the target as needed, then `retry`: an effect asks for approval again.',
];

const timeOf = (at: number | undefined): string =>
  at === undefined ? 'time not recorded' : new Date(at).toISOString();

const attemptLines = (attempt: Attempt): readonly string[] => {
  const { attempt: number, session = 1, at, report } = attempt;
  const head = `${String(number)}. ${timeOf(at)}, session ${String(session)}: `;
  const approach = report?.approach === undefined ? '' : ` Approach: ${oneLine(report.approach, 600)}`;
  if (!isFailure(attempt)) return [`${head}succeeded.${approach}`];
  const { verdict, error } = attempt;
  return [
    `${head}${verdict.class}, then ${verdict.kind}.${approach}`,
    `   Error: ${oneLine(errorText(error, verdict), 600)}`,
  ];
};

const thisAttempt = (failure: AssessFailure, verdict: Verdict): readonly string[] => [
  `${String(failure.attempt)}. last attempt: ${verdict.class}, stuck.${
    failure.report?.approach === undefined ? '' : ` Approach: ${oneLine(failure.report.approach, 600)}`
  }`,
  `   Error: ${oneLine(errorText(failure.error, verdict), 600)}`,
];

/** The pairs that made the job circular, so that a person can judge them. */
const sameLines = (
  attempts: readonly Attempt[],
  failure: AssessFailure,
  { same = [] }: Verdict,
): readonly string[] => {
  if (same.length === 0) return [];
  const last = oneLine(failure.report?.approach ?? '', 200);
  const approachOf = (number: number): string =>
    oneLine(attempts.findLast(({ attempt }) => attempt === number)?.report?.approach ?? '', 200);
  const pairs = same.map(
    ({ attempt, similarity }) =>
      `- Attempts ${String(attempt)} and ${String(failure.attempt)}, similarity ${String(similarity)}: ${approachOf(attempt)} — ${last}`,
  );
  return ['## The same approach', '', ...list(pairs, ATTEMPTS_MAX, ''), ''];
};

const dependentLines = ({ dependents }: AssessFailure): readonly string[] => {
  if (dependents === undefined) return ['No job depends on this one.'];
  const { nodes, count, critical } = dependents;
  const rest = count - nodes.length;
  return [
    `${count === 1 ? 'One job waits' : `${String(count)} jobs wait`} for this one: ${nodes.map(code).join(', ')}${
      rest > 0 ? `, and ${String(rest)} more` : ''
    }.`,
    critical
      ? 'The critical path of the task is blocked: its longest chain of unfinished jobs leads through this one.'
      : 'The critical path of the task is not blocked: a longer chain of jobs continues.',
  ];
};

const filesOf = (attempts: readonly Attempt[], failure: AssessFailure): readonly string[] => [
  ...new Set([...attempts.flatMap(({ report }) => report?.files ?? []), ...(failure.report?.files ?? [])]),
];

const list = (items: readonly string[], max: number, none: string): readonly string[] => {
  if (items.length === 0) return [none];
  const rest = items.length - max;
  return [...items.slice(0, max), ...(rest > 0 ? [`- and ${String(rest)} more`] : [])];
};

const code = (text: string): string => `\`${text.replaceAll('`', "'").replace(/\s+/g, ' ')}\``;

/** A Markdown report about a stuck job, for the person who resolves it. */
export const reportOn = (history: History, failure: AssessFailure, verdict: Verdict): string => {
  const { task, node, error, output = '', place, goal, workflow, effects = [] } = failure;
  const attempts = history.attempts.filter((each) => each.node === node);
  const job = jobOf(task, node);
  return [
    `# ${job} is stuck`,
    '',
    '## Summary',
    '',
    ...(goal === undefined ? [] : [`- Goal: ${oneLine(goal, 1_000)}`]),
    ...(workflow === undefined ? [] : [`- Workflow: ${code(workflow)}`]),
    `- Class: **${verdict.class}**, because of ${code(verdict.classification?.rule ?? verdict.rule)}: ${oneLine(verdict.classification?.evidence ?? '', 500)}`,
    `- Verdict: ${verdict.kind} (${code(verdict.rule)}): ${oneLine(verdict.reason, 500)}`,
    `- Attempts: ${String(attempts.length + 1)}`,
    ...(place?.worktree === undefined ? [] : [`- Worktree: ${code(place.worktree)}`]),
    ...(place?.branch === undefined ? [] : [`- Branch: ${code(place.branch)}`]),
    '',
    '## Attempts made',
    '',
    ...attempts.slice(-ATTEMPTS_MAX).flatMap(attemptLines),
    ...thisAttempt(failure, verdict),
    '',
    ...sameLines(attempts, failure, verdict),
    '## Error details',
    '',
    `${code(error.code)}: ${oneLine(error.message, 2_000)}`,
    ...(failure.exitCode === undefined ? [] : ['', `Exit code ${String(failure.exitCode)}.`]),
    ...(output.trim() === '' ? [] : ['', fenced(output.slice(-OUTPUT_CHARACTERS).toWellFormed())]),
    '',
    '## Files involved',
    '',
    ...list(
      filesOf(attempts, failure).map((file) => `- ${code(file)}`),
      FILES_MAX,
      'None reported.',
    ),
    '',
    '## Jobs that depend on it',
    '',
    ...dependentLines(failure),
    '',
    ...(effects.length === 0
      ? []
      : [
          '## Effects applied so far',
          '',
          ...list(
            effects.map(
              ({ node: of, uses, target, compensate }) =>
                `- ${code(jobOf(task, of))}: ${code(uses)} on ${code(target)}: ${
                  compensate === undefined
                    ? 'cannot be undone automatically; undo it by hand'
                    : '`holdpoint effect undo` undoes it'
                }`,
            ),
            EFFECTS_MAX,
            '',
          ),
          '',
        ]),
    '## Recommended actions',
    '',
    ...(failure.paused === undefined ? ADVICE[verdict.class] : PAUSED_ADVICE).map(
      (advice) => `- [ ] ${advice}`,
    ),
    `- [ ] Then resolve the job: ${code(`holdpoint recovery resolve ${job} retry`)}, or ${code('skip')} to continue without it, ${code('done')} if you have done it yourself, ${code('cancel')} to cancel the task.`,
    '',
  ].join('\n');
};
