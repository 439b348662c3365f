import type { Finding, Outcome } from '../../effect/decide.ts';
import type { StartSecrets } from './secrets.ts';

type Hide = StartSecrets['hideIn'];

/** Hides the secrets of the start in an outcome. Its kind stays the same. */
export const hiddenOutcome = (outcome: Outcome, hide: Hide): Outcome => {
  switch (outcome.kind) {
    case 'applied':
      return { ...outcome, outputs: hide(outcome.outputs) };
    case 'failed_clean': {
      const { code, ...rest } = outcome.error;
      return { ...outcome, error: { code, ...hide(rest) } };
    }
    case 'unknown':
      return { ...outcome, reason: hide(outcome.reason) };
  }
};

export const hiddenFinding = (finding: Finding, hide: Hide): Finding => {
  const { found, ...rest } = finding;
  return { found, ...hide(rest) };
};
