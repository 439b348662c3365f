import { finderOf } from '@holdpoint/contracts/values/pattern';
import type { AssessFailure } from '@holdpoint/contracts/recovery/commands';
import type { FailureClass } from '@holdpoint/contracts/workflow/failure-class';
import type { RecoveryRules } from '@holdpoint/contracts/workflow/recovery-rules';
import { errorLine } from './fingerprint.ts';
import { CLASSES_VERSION } from './rules.ts';
import { lastOfAgent, type Sign, signsIn, tailOf, weightiest } from './signs.ts';
import { linesOf, quoted } from './text.ts';

export type Failure = Pick<
  AssessFailure,
  | 'uses'
  | 'outcome'
  | 'effectClass'
  | 'error'
  | 'exitCode'
  | 'output'
  | 'report'
  | 'cause'
  | 'crashes'
  | 'rules'
>;

export type Classification = {
  readonly class: FailureClass;
  /** The rule that decided, and the line that it matched. */
  readonly classification: { readonly rule: string; readonly evidence: string };
};

const classified = (failureClass: FailureClass, rule: string, evidence: string): Classification => ({
  class: failureClass,
  classification: { rule: `classes@${String(CLASSES_VERSION)}/${rule}`, evidence: quoted(evidence) },
});

/** Effect classes that can be repeated after a lost worker; undefined is work. */
const SAFE_TO_REPEAT: readonly AssessFailure['effectClass'][] = [undefined, 'idempotent', 'keyed', 'fenced'];

const inDoubt = ({ outcome, cause, effectClass, error }: Failure): Classification | undefined => {
  if (outcome !== 'in_doubt') return undefined;
  return cause === 'worker_lost' && SAFE_TO_REPEAT.includes(effectClass)
    ? classified('WORKER_CRASH', 'worker-lost', error.message)
    : classified('EFFECT_IN_DOUBT', 'in-doubt', error.message);
};

const fits = (named: string, uses: string | undefined): boolean =>
  named.endsWith('*') ? uses?.startsWith(named.slice(0, -1)) === true : named === uses;

type UserRule = NonNullable<RecoveryRules['rules']>[number];

/** The conditions of a rule that need no output. */
const matchesFailure = ({ exitCodes, errors, uses }: UserRule, failure: Failure): boolean =>
  (exitCodes === undefined || (failure.exitCode !== undefined && exitCodes.includes(failure.exitCode))) &&
  (errors === undefined || errors.includes(failure.error.code)) &&
  (uses === undefined || fits(uses, failure.uses));

/** The repository's rules: the first that matches. */
const ofRepository = (failure: Failure, lines: readonly string[]): Classification | undefined => {
  for (const rule of failure.rules?.rules ?? []) {
    if (!matchesFailure(rule, failure)) continue;
    const find = rule.pattern === undefined ? undefined : finderOf([rule.pattern]);
    const line = find === undefined ? failure.error.message : lines.find((one) => find(one).length > 0);
    if (line !== undefined) {
      return {
        class: rule.class,
        classification: { rule: `recovery.toml/${rule.id}`, evidence: quoted(line) },
      };
    }
  }
  return undefined;
};

const ofReport = ({ report }: Failure): Classification | undefined =>
  report?.stop === 'context_exhausted'
    ? classified('CONTEXT_EXHAUSTED', 'reported-context', report.next ?? report.done ?? 'context_exhausted')
    : undefined;

/** Holdpoint's own transient errors, after which nothing has happened. */
const TRANSIENT_ERRORS: readonly string[] = [
  'EXECUTOR_JOURNAL_UNAVAILABLE',
  // A probe found the effect not applied. An answer of a person ends the node instead.
  'EXECUTOR_NOT_APPLIED',
  'EXECUTOR_TARGET_UNAVAILABLE',
  'EXECUTOR_CIRCUIT_OPEN',
  'RUNTIME_UNAVAILABLE',
];

/** The executor refuses these arguments or settings each time, before anything happens. */
const CERTAIN_ERRORS: readonly string[] = [
  'EXECUTOR_CLASS_MISMATCH',
  'EXECUTOR_EFFECT_MISDESCRIBED',
  'EXECUTOR_INVALID_ARGUMENTS',
  'EXECUTOR_PATH_REFUSED',
  'EXECUTOR_REPOSITORY_NOT_ALLOWED',
  'EXECUTOR_SECRET_NOT_ALLOWED',
  'EXECUTOR_SECRET_UNKNOWN',
  'EXECUTOR_TARGET_NOT_ALLOWED',
  'EXECUTOR_UNKNOWN_CAPABILITY',
  'EXECUTOR_WORK_REFUSED',
];

const ofError = ({ error: { code, message } }: Failure): Classification | undefined => {
  if (TRANSIENT_ERRORS.includes(code)) return classified('TRANSIENT', 'error-code', `${code}: ${message}`);
  if (CERTAIN_ERRORS.includes(code))
    return classified('MISCONFIGURED', 'certain-error', `${code}: ${message}`);
  // A step that was refused fails its node: the message begins with the code.
  const [named = ''] = message.split(':', 1);
  return code === 'NODE_FAILED' && CERTAIN_ERRORS.includes(named)
    ? classified('MISCONFIGURED', 'certain-error', message)
    : undefined;
};

const isAgent = (uses: string): boolean => uses.startsWith('cap.agent.');

/** Signs that tools print without ambiguity. */
const isDefinite = ({ rule: { kind } }: Sign): boolean => kind !== 'hint' && kind !== 'network';

const ofSigns = (signs: readonly Sign[]): Classification | undefined => {
  const [first] = weightiest(signs);
  return first && classified(first.rule.class, first.rule.id, first.line);
};

/** An agent is trusted about itself. What it has built and tested counts only at the end of its output. */
const ofOutput = ({ uses }: Failure, lines: readonly string[]): Classification | undefined => {
  if (uses !== undefined && !isAgent(uses)) return ofSigns(signsIn(lines));
  const own = lastOfAgent(lines);
  const ofOwn = own && classified(own.rule.class, own.rule.id, own.line);
  if (uses !== undefined) return ofOwn ?? ofSigns(signsIn(lines.slice(tailOf(lines))));
  // The capability is unknown. Results of checks decide, unless an agent ran out of context after them.
  const signs = signsIn(lines);
  const result = signs.findLast(isDefinite);
  const endedThere = own?.rule.class === 'CONTEXT_EXHAUSTED' && own.at > (result?.at ?? -1);
  return result === undefined || endedThere ? (ofOwn ?? ofSigns(signs)) : ofSigns(signs);
};

/** Exit codes with a meaning of their own, for output without signs. */
const EXIT_CODES: readonly (readonly [code: number, rule: string, failureClass: FailureClass])[] = [
  [69, 'exit-unavailable', 'TRANSIENT'],
  [75, 'exit-try-again', 'TRANSIENT'],
  // A signal from outside: out of memory, or a shutdown.
  [137, 'exit-killed', 'TRANSIENT'],
  [143, 'exit-terminated', 'TRANSIENT'],
  [127, 'exit-no-such-command', 'BROKEN_BUILD'],
  // A timeout may or may not repeat.
  [124, 'exit-timeout', 'UNKNOWN'],
];

const ofExitCode = ({ exitCode, error }: Failure): Classification | undefined => {
  const row = EXIT_CODES.find(([code]) => code === exitCode);
  if (row === undefined) return undefined;
  const [code, rule, failureClass] = row;
  return classified(failureClass, rule, `exit code ${String(code)}: ${error.message}`);
};

/** A check with an exit code has failed, even without output. */
const ofCheck = ({ uses, exitCode, error, output }: Failure): Classification | undefined =>
  uses?.startsWith('control.gate.') === true && exitCode !== undefined && exitCode !== 0
    ? classified('VERIFICATION_FAILED', 'check-failed', errorLine(output) ?? error.message)
    : undefined;

/**
 * Classifies a failure by this attempt alone; the history decides whether a job is circular. The first source
 * that recognizes the failure decides.
 */
export const classify = (failure: Failure): Classification => {
  const doubt = inDoubt(failure);
  if (doubt !== undefined) return doubt;
  const lines = [...linesOf(failure.output ?? ''), ...linesOf(failure.error.message)];
  return (
    ofRepository(failure, lines) ??
    ofReport(failure) ??
    ofError(failure) ??
    ofOutput(failure, lines) ??
    ofExitCode(failure) ??
    ofCheck(failure) ??
    classified(
      'UNKNOWN',
      'nothing-known',
      errorLine(failure.output) ?? `${failure.error.code}: ${failure.error.message}`,
    )
  );
};
