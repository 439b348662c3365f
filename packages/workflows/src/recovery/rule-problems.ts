import type { ClassRule, RecoveryRules } from '@holdpoint/contracts/workflow/recovery-rules';
import { PATTERN_PROGRAM_MAX } from '@holdpoint/contracts/values/pattern';
import { RE2JS } from 're2js';
import type { Problem } from '../problems/problem.ts';
import { shown } from '../problems/report.ts';

type NewProblem = Pick<Problem, 'code' | 'path' | 'found' | 'expected'>;

/** Limit for all patterns together; beyond it, patterns are not even compiled, because a caller waits. */
const ALL_STEPS_MAX = 10_000;

const SYNTAX = 'an RE2 pattern: no look-around, no back-references';

/** The size of a pattern, or why it is invalid. */
const read = (pattern: string): { readonly steps: number } | { readonly found: string } => {
  try {
    return { steps: RE2JS.compile(pattern).programSize() };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return { found: `${shown(pattern)}: ${error.message.replace(/^error parsing regexp: /, '')}` };
  }
};

const patternProblems = (rules: readonly ClassRule[]): readonly NewProblem[] => {
  const problems: NewProblem[] = [];
  let all = 0;
  for (const [at, { pattern }] of rules.entries()) {
    if (pattern === undefined) continue;
    const refuse = (found: string, expected: string): void => {
      problems.push({
        code: 'WORKFLOW_RECOVERY_PATTERN',
        path: `rules[${String(at)}].pattern`,
        found,
        expected,
      });
    };
    if (all > ALL_STEPS_MAX) {
      refuse('patterns that are too large in total', `at most ${String(ALL_STEPS_MAX)} steps`);
      break;
    }
    const made = read(pattern);
    if ('found' in made) {
      refuse(made.found, SYNTAX);
      continue;
    }
    all += made.steps;
    if (made.steps > PATTERN_PROGRAM_MAX)
      refuse(
        `${shown(pattern)} of ${String(made.steps)} steps`,
        `at most ${String(PATTERN_PROGRAM_MAX)}: fewer or smaller repetitions`,
      );
  }
  return problems;
};

const ruleProblems = (rule: ClassRule, at: number, first: number | undefined): readonly NewProblem[] => {
  const path = `rules[${String(at)}]`;
  const { id, pattern, exitCodes, errors, uses } = rule;
  return [
    ...(first === undefined || first === at
      ? []
      : [
          {
            code: 'WORKFLOW_RECOVERY_RULE_TWICE',
            path: `${path}.id`,
            found: `${id}, the id of rules[${String(first)}]`,
            expected: 'a unique id',
          },
        ]),
    ...(pattern === undefined && exitCodes === undefined && errors === undefined
      ? [
          {
            code: 'WORKFLOW_RECOVERY_RULE_EMPTY',
            path,
            found: uses === undefined ? 'no condition' : 'only uses',
            expected: 'a pattern, exit_codes or errors',
          },
        ]
      : []),
    ...(uses === undefined || /^[a-z0-9_.]+\*?$/.test(uses)
      ? []
      : [
          {
            code: 'WORKFLOW_RECOVERY_USES',
            path: `${path}.uses`,
            found: shown(uses),
            expected: 'a label such as cap.agent.invoke, or a prefix ending with *',
          },
        ]),
  ];
};

/** Checks recovery rules beyond their shape. Paths are those of the file. */
export const rulesProblems = ({ rules = [], backoff }: RecoveryRules): readonly NewProblem[] => {
  const first = new Map<string, number>();
  for (const [at, { id }] of rules.entries()) if (!first.has(id)) first.set(id, at);
  return [
    ...rules.flatMap((rule, at) => ruleProblems(rule, at, first.get(rule.id))),
    ...patternProblems(rules),
    ...(backoff === undefined || backoff.firstMs <= backoff.mostMs
      ? []
      : [
          {
            code: 'WORKFLOW_RECOVERY_BACKOFF',
            path: 'backoff.first',
            found: `${String(backoff.firstMs)} ms`,
            expected: `at most ${String(backoff.mostMs)} ms, the value of most`,
          },
        ]),
  ];
};
