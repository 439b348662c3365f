import type { FailureClass } from '@holdpoint/contracts/workflow/failure-class';

/** Increase it with every change of the rules; classifications name it. */
export const CLASSES_VERSION = 2;

/**
 * Kinds of lines, strongest first. Output with several kinds is classified by the strongest, wherever it
 * stands: tests that do not build fail too, and tests about the network quote its errors.
 */
export const KINDS = ['machine', 'build', 'missing', 'tests', 'lint', 'network', 'hint'] as const;
export type Kind = (typeof KINDS)[number];

/** An RE2 pattern of meaningful lines. The first rule that matches a line decides. */
export type Rule = {
  readonly id: string;
  readonly kind: Kind;
  readonly class: FailureClass;
  readonly pattern: string;
  /**
   * Further sections in which the rule applies. It always applies outside sections, unless `only` restricts
   * it to one.
   */
  readonly within?: readonly string[];
  readonly only?: string;
  /** Rules that this one explains: they are ignored when it matches. */
  readonly overrules?: readonly string[];
};

/**
 * Where a tool starts and stops quoting other programs. Inside, only the tool's own lines count: a test may
 * print compiler errors.
 */
export type SectionBorder = { readonly pattern: string; readonly opens?: string };

/** Sections that only locate a line and hide nothing. */
export const OPEN_SECTIONS: readonly string[] = ['go-build'];

type RuleScope = Pick<Rule, 'within' | 'only' | 'overrules'>;
const ruleOf =
  (kind: Kind, failureClass: FailureClass) =>
  (id: string, pattern: string, place: RuleScope = {}): Rule => ({
    id,
    kind,
    class: failureClass,
    pattern,
    ...place,
  });

export const build = ruleOf('build', 'BROKEN_BUILD');
/** Something is missing; after a failed download, the download is the cause. */
export const missing = ruleOf('missing', 'BROKEN_BUILD');
export const tests = ruleOf('tests', 'VERIFICATION_FAILED');
export const lint = ruleOf('lint', 'VERIFICATION_FAILED');
export const network = ruleOf('network', 'TRANSIENT');
/** Problems of the machine, not of the work. */
export const machine = (failureClass: FailureClass, id: string, pattern: string): Rule =>
  ruleOf('machine', failureClass)(id, pattern);
/** Counts only when nothing stronger matched. */
export const hint = (failureClass: FailureClass, id: string, pattern: string): Rule =>
  ruleOf('hint', failureClass)(id, pattern);
