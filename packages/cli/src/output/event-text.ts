import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import type { Verdict } from '@holdpoint/contracts/recovery/verdict';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import { QUESTION_LABELS } from './question-labels.ts';
import { instant, shorten } from './columns.ts';

const TEXT_SHOWN = 60;
const COMMIT_SHOWN = 12;

export const effectLine = ({ uses, kind, target }: CanonicalEffect): string =>
  `${uses} (${kind}) on ${target}`;

const quoted = (comment: string | undefined): string =>
  comment === undefined ? '' : `, "${shorten(comment, TEXT_SHOWN)}"`;

const because = (text: string | undefined): string => (text === undefined || text === '' ? '' : `: ${text}`);

const verdictText = (verdict: Verdict | undefined): string =>
  verdict === undefined ? '' : `${verdict.class}, ${verdict.reason}`;

/** Details of an event, besides its name and phase. */
export const eventText = (event: TaskEvent): string => {
  switch (event.type) {
    case 'submitted':
      return `${event.definition.id}@${event.definition.version} by ${event.requestedBy}: ${shorten(event.goal, TEXT_SHOWN)}`;
    case 'approval_requested':
      return `${event.node}: ${effectLine(event.effect)}, approval ${event.approval}`;
    case 'approval_closed':
      return event.outcome === 'expired'
        ? `${event.node}: expired${because(event.comment)}`
        : `${event.node}: ${event.outcome} by ${event.by}${quoted(event.comment)}`;
    case 'effect_ordered':
      return `${event.node}: effect ${event.effectId}`;
    case 'node_waiting':
      return `${event.node}: ${event.wait.kind}: ${event.wait.detail}`;
    case 'step_ordered':
      return `${event.node}: ${event.step}: ${event.effect.uses}`;
    case 'step_ended':
      return `${event.node}: ${event.step}: ${event.result.outcome}${because(event.result.detail)}`;
    case 'node_succeeded':
      return `${event.node}${event.by === undefined ? '' : `, by ${event.by}`}${because(event.detail)}`;
    case 'artifacts_updated':
    case 'node_inspected':
    case 'node_previewed':
    case 'node_started':
    case 'locks_requested':
    case 'locks_acquired':
      return event.node;
    case 'node_ended':
      return `${event.node}: ${event.outcome}: ${event.error.code}: ${event.error.message}`;
    case 'node_failed':
    case 'node_blocked':
      return `${event.node}: ${event.error.code}: ${event.error.message}`;
    case 'in_doubt_asked':
      return `${event.node}: ${QUESTION_LABELS.in_doubt} question ${event.approval}: ${event.reason}`;
    case 'in_doubt_answered':
      return `${event.node}: ${event.answer}, by ${event.by}${quoted(event.comment)}`;
    case 'checkpoint':
      return `${event.node}: ${event.kind}: ${event.reason}`;
    case 'review_recorded': {
      const { kind, verdict, by, agent, summary } = event.review;
      return `${kind} review: ${verdict.replace('_', ' ')}, by ${agent ?? by}: ${shorten(summary, TEXT_SHOWN)}`;
    }
    case 'node_retrying':
      return `${event.node}: attempt ${String(event.attempt)} in ${String(event.delayMs)} ms${event.session === undefined ? '' : `, session ${String(event.session)}`}${because(verdictText(event.verdict))}`;
    case 'rollback_ordered':
      return `${event.node}: back to ${event.commit.slice(0, COMMIT_SHOWN)}, done by ${event.by}${because(verdictText(event.verdict))}`;
    case 'rollback_ended':
      return `${event.node}: ${event.outcome}, done by ${event.by}`;
    case 'handoff_ordered':
      return `${event.node}: in a new session${because(verdictText(event.verdict))}`;
    case 'stuck_asked':
      return `${event.node}: ${QUESTION_LABELS.stuck} question ${event.approval}`;
    case 'stuck_answered':
      return `${event.node}: ${event.answer}, by ${event.by}${quoted(event.comment)}`;
    case 'node_deferred':
      return `${event.node}: waits for ${event.target}${because(event.reason)}`;
    case 'node_undeferred':
      return event.node;
    case 'deferred':
      return `waits for ${event.circuit}${event.until === undefined ? ', until you close it' : `, until ${instant(event.until)}`}`;
    case 'undeferred':
      return `${event.circuit}${event.trial ? ', as the trial' : ''}`;
    case 'budget_extended':
      return `${event.node}: budget doubled${event.by === undefined ? '' : ` by ${event.by}`}, approval ${event.approval}`;
    case 'node_skipped':
    case 'node_escalated':
      return `${event.node}: ${event.reason}`;
    case 'restarted':
      return `${event.nodes.join(', ')}, because of ${event.route ?? event.by ?? event.node}${because(verdictText(event.verdict))}`;
    case 'node_paused':
      return `${event.node} by ${event.by}${because(event.reason)}`;
    case 'node_resumed':
      return `${event.node} by ${event.by}`;
    case 'watcher_added':
      return `by ${event.watcher}`;
    case 'peer_ended':
      return `${event.node === undefined ? event.peer : `${event.peer}/${event.node}`}: ${event.outcome}`;
    case 'failed':
      return `${event.error.code}: ${event.error.message}`;
    case 'paused':
    case 'cancelled':
    case 'cancelled_before_submission':
      return `by ${event.by}${because(event.reason)}`;
    case 'resumed':
      return `by ${event.by}`;
    case 'ready':
    case 'completed':
      return '';
  }
};
