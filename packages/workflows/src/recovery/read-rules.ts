import { FailureClass } from '@holdpoint/contracts/workflow/failure-class';
import {
  type Backoff,
  ClassRule,
  RECOVERY_DEFAULTS,
  RecoveryRules,
} from '@holdpoint/contracts/workflow/recovery-rules';
import { WAIT_MAX_MS } from '@holdpoint/contracts/workflow/workflow';
import { z } from 'zod';
import type { Problem } from '../problems/problem.ts';
import { parseTime } from '../reading/coerce.ts';
import { parseClean } from '../reading/parse.ts';
import { createReport, hasErrors, shown, type Report } from '../problems/report.ts';
import { table } from '../reading/table.ts';
import { parseShape } from '../reading/shape.ts';
import { rulesProblems } from './rule-problems.ts';

/** Far larger than any real rules file. */
const FILE_BYTES_MAX = 262_144;

/** Failure classes with their own setting, or with no limit at all. */
const ELSEWHERE = {
  CIRCULAR_FIX: '[circular] attempts',
  CONTEXT_EXHAUSTED: '[continue] max',
  EFFECT_IN_DOUBT: 'no threshold: recovery asks an operator at once',
  MISCONFIGURED: 'no threshold: recovery asks an operator at once',
} as const;

const Time = z.union([z.string(), z.int()], 'a time such as 500ms, 30s, 10m or 2h');
type Time = z.infer<typeof Time>;

const { id, class: failureClass, pattern, exitCodes, errors, uses } = ClassRule.shape;
const RawRule = table({ id, class: failureClass, pattern, exit_codes: exitCodes, errors, uses });

const Threshold = RecoveryRules.shape.thresholds.unwrap().valueType.optional();
const RawThresholds = table(
  Object.fromEntries(FailureClass.options.map((name) => [name, Threshold])) as Record<
    FailureClass,
    typeof Threshold
  >,
);

const { attempts, similarity } = RecoveryRules.shape.circular.unwrap().shape;
const { failures } = RecoveryRules.shape.circuit.unwrap().shape;

const RecoveryFile = table({
  rules: z.array(RawRule).max(100).optional(),
  thresholds: RawThresholds.optional(),
  backoff: table({ first: Time.optional(), most: Time.optional() }).optional(),
  circular: table({ attempts, similarity }).optional(),
  continue: table({ max: RecoveryRules.shape.continues }).optional(),
  circuit: table({
    failures: failures.default(RECOVERY_DEFAULTS.circuit.failures),
    window: Time.optional(),
    cool_down: Time.optional(),
  }).optional(),
});
type RecoveryFile = z.infer<typeof RecoveryFile>;

type Refuse = (code: string, path: string, found: string, expected: string) => void;

const timeOf = (written: Time, path: string, leastMs: number, refuse: Refuse): number => {
  const ms = parseTime(String(written), leastMs);
  if (ms === undefined) {
    const expected = `a time such as 500ms, 30s, 10m or 2h, from ${String(leastMs)} ms to ${String(WAIT_MAX_MS / 86_400_000)} days`;
    refuse('TIME', path, shown(written), expected);
  }
  return ms ?? leastMs;
};

const thresholdsOf = (
  thresholds: NonNullable<RecoveryFile['thresholds']>,
  refuse: Refuse,
): NonNullable<RecoveryRules['thresholds']> => {
  for (const name of Object.keys(ELSEWHERE) as (keyof typeof ELSEWHERE)[]) {
    const value = thresholds[name];
    if (value !== undefined) refuse('THRESHOLD', `thresholds.${name}`, shown(value), ELSEWHERE[name]);
  }
  return Object.fromEntries(Object.entries(thresholds).filter(([, value]) => value !== undefined));
};

/** A default never contradicts the other value: a delay that starts beyond it stays as long. */
const backoffOf = (firstMs: number | undefined, mostMs: number | undefined): Backoff => {
  const { backoff } = RECOVERY_DEFAULTS;
  return {
    firstMs: firstMs ?? Math.min(backoff.firstMs, mostMs ?? Infinity),
    mostMs: mostMs ?? Math.max(backoff.mostMs, firstMs ?? 0),
  };
};

/** The rules in the form that travels with a task. */
const rulesOf = (file: RecoveryFile, refuse: Refuse): RecoveryRules => {
  const { rules, thresholds, backoff, circular, continue: continuing, circuit } = file;
  const wait = (written: Time | undefined, path: string, leastMs: number): number | undefined =>
    written === undefined ? undefined : timeOf(written, path, leastMs, refuse);
  return {
    ...(rules !== undefined && {
      rules: rules.map(({ exit_codes: codes, ...rule }) => ({
        ...rule,
        ...(codes !== undefined && { exitCodes: codes }),
      })),
    }),
    ...(thresholds !== undefined && { thresholds: thresholdsOf(thresholds, refuse) }),
    ...(backoff !== undefined && {
      backoff: backoffOf(wait(backoff.first, 'backoff.first', 0), wait(backoff.most, 'backoff.most', 0)),
    }),
    ...(circular !== undefined && { circular }),
    ...(continuing !== undefined && { continues: continuing.max ?? RECOVERY_DEFAULTS.continues }),
    ...(circuit !== undefined && {
      circuit: {
        failures: circuit.failures,
        windowMs: wait(circuit.window, 'circuit.window', 1_000) ?? RECOVERY_DEFAULTS.circuit.windowMs,
        coolDownMs:
          wait(circuit.cool_down, 'circuit.cool_down', 1_000) ?? RECOVERY_DEFAULTS.circuit.coolDownMs,
      },
    }),
  };
};

const readInto = (text: string, file: string, report: Report): RecoveryRules | undefined => {
  const data = parseClean(text, file, report, FILE_BYTES_MAX);
  const parsed = data === undefined ? undefined : parseShape(RecoveryFile, data, { file, report });
  if (parsed === undefined) return undefined;
  const rules = rulesOf(parsed, (code, path, found, expected) => {
    report.error({ code: `WORKFLOW_${code}`, path, found, expected, file });
  });
  for (const problem of rulesProblems(rules)) report.error({ ...problem, file });
  return rules;
};

export type RulesResult = {
  /** Present only when no problem is an error. */
  readonly rules?: RecoveryRules;
  readonly problems: readonly Problem[];
};

/** All problems of this file get codes of one family. */
const ownCode = (code: string): string =>
  code.startsWith('WORKFLOW_RECOVERY_') ? code : code.replace(/^WORKFLOW_/, 'WORKFLOW_RECOVERY_');

/** Reads a recovery file and reports all problems at once. */
export const readRecoveryRules = (text: string, file: string): RulesResult => {
  const report = createReport();
  const rules = readInto(text, file, report);
  const problems = report.problems.map((problem): Problem => ({ ...problem, code: ownCode(problem.code) }));
  return rules === undefined || hasErrors(problems) ? { problems } : { rules, problems };
};
