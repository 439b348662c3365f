import type { AuditLine } from '@holdpoint/contracts/audit/audit';
import type { Word } from '../tasks/labels.ts';
import type { Verification } from './verify-log.ts';

/** The badge of an audit line, from the last verification of the whole log. */
export const markOf = (line: AuditLine, verified: Verification | undefined): Word => {
  if (verified === undefined || line.seq > (verified.report.head?.seq ?? 0))
    return ['not verified yet', 'quiet'];
  // The request joined the task after the check started, so no hash was kept for it.
  if (!verified.about.has(line.aggregate)) return ['not verified yet', 'quiet'];
  const broken = verified.report.problems.some(({ seq }) => seq === line.seq);
  if (broken || verified.hashes.get(line.seq) !== line.hash) return ['verification failed', 'bad'];
  // An earlier fault makes the content of this line uncertain.
  if (verified.report.problemCount > 0) return ['in a damaged log', 'warn'];
  return line.seq <= verified.report.anchoredTo ? ['✓ verified, signed', 'good'] : ['✓ verified', 'good'];
};
