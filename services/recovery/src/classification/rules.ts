import type { FailureClass } from '@holdpoint/contracts/workflow/failure-class';

/** Raised with every change of what the rules say; every explanation names it. */
export const CLASSES_VERSION = 1;

/**
 * What a line says, the weightiest first. A program that prints several things at once is classified by the weightiest of
 * them, wherever it stands: tests that could not be built have failed as well, and tests about the network quote its errors.
 */
export const KINDS = ['machine', 'build', 'missing', 'tests', 'lint', 'network', 'hint'] as const;
export type Kind = (typeof KINDS)[number];

/** A line that means something, in RE2. The first rule that fits a line says what it means. */
export type Rule = {
  readonly id: string;
  readonly kind: Kind;
  readonly class: FailureClass;
  readonly pattern: string;
  /** Sections that it is looked for in, too. Outside of all of them it always is, unless it is `only` looked for inside. */
  readonly within?: readonly string[];
  readonly only?: string;
  /** Where it is found, these rules say nothing: it explains what they have seen. */
  readonly overrules?: readonly string[];
};

/**
 * Where a tool that runs other people's programs begins and ends to repeat what they say. In there only its own lines count:
 * what a test prints, or compares, is not what the compiler says.
 */
export type SectionBorder = { readonly pattern: string; readonly opens?: string };

/** Sections that say where a line stands, and hide nothing. */
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
/** Something is not there; after a failed download that is the reason. */
export const missing = ruleOf('missing', 'BROKEN_BUILD');
export const tests = ruleOf('tests', 'VERIFICATION_FAILED');
export const lint = ruleOf('lint', 'VERIFICATION_FAILED');
export const network = ruleOf('network', 'TRANSIENT');
/** What has to do with the machine and not with the work. */
export const machine = (failureClass: FailureClass, id: string, pattern: string): Rule =>
  ruleOf('machine', failureClass)(id, pattern);
/** Counts only where nothing better was found. */
export const hint = (failureClass: FailureClass, id: string, pattern: string): Rule =>
  ruleOf('hint', failureClass)(id, pattern);
