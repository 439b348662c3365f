import type { CanonicalEffect } from '@holdpoint/contracts/effect';
import type { TaskEvent } from '@holdpoint/contracts/task';
import { shorten } from './columns.ts';

const TEXT_SHOWN = 60;

export const effectLine = ({ uses, kind, target }: CanonicalEffect): string =>
  `${uses} (${kind}) on ${target}`;

const because = (text: string | undefined): string => (text === undefined || text === '' ? '' : `: ${text}`);

/** What an event says beside its name and phase. */
export const eventText = (event: TaskEvent): string => {
  switch (event.type) {
    case 'submitted':
      return `${event.definition.id}@${event.definition.version} by ${event.requestedBy}: ${shorten(event.goal, TEXT_SHOWN)}`;
    case 'approval_requested':
      return `${event.node}: ${effectLine(event.effect)}, approval ${event.approval}`;
    case 'approval_closed':
      return `${event.node}: ${event.outcome} by ${event.by}${event.comment === undefined ? '' : `, "${shorten(event.comment, TEXT_SHOWN)}"`}`;
    case 'effect_ordered':
      return `${event.node}: effect ${event.effectId}`;
    case 'node_waiting':
      return `${event.node}: ${event.wait.kind}: ${event.wait.detail}`;
    case 'step_ordered':
      return `${event.node}: ${event.step}: ${event.effect.uses}`;
    case 'step_ended':
      return `${event.node}: ${event.step}: ${event.result.outcome}${because(event.result.detail)}`;
    case 'node_succeeded':
      return `${event.node}${because(event.detail)}`;
    case 'artifacts_known':
    case 'node_inspected':
    case 'node_previewed':
    case 'node_started':
    case 'locks_wanted':
    case 'locks_held':
      return event.node;
    case 'node_ended':
      return `${event.node}: ${event.outcome}: ${event.error.code}: ${event.error.message}`;
    case 'node_failed':
    case 'node_blocked':
      return `${event.node}: ${event.error.code}: ${event.error.message}`;
    case 'doubt_asked':
      return `${event.node}: did it happen? question ${event.approval}: ${event.reason}`;
    case 'doubt_answered':
      return `${event.node}: ${event.answer}, by ${event.by}${event.comment === undefined ? '' : `, "${shorten(event.comment, TEXT_SHOWN)}"`}`;
    case 'checkpoint':
      return `${event.node}: ${event.kind}: ${event.reason}`;
    case 'node_retrying':
      return `${event.node}: attempt ${String(event.attempt)} in ${String(event.delayMs)} ms`;
    case 'node_skipped':
    case 'node_escalated':
      return `${event.node}: ${event.reason}`;
    case 'rewound':
      return `${event.nodes.join(', ')}, because of ${event.route ?? event.by ?? event.node}`;
    case 'node_paused':
      return `${event.node} by ${event.by}${because(event.reason)}`;
    case 'node_resumed':
      return `${event.node} by ${event.by}`;
    case 'watched':
      return `by ${event.watcher}`;
    case 'peer_ended':
      return `${event.node === undefined ? event.peer : `${event.peer}/${event.node}`}: ${event.outcome}`;
    case 'failed':
      return `${event.error.code}: ${event.error.message}`;
    case 'paused':
    case 'cancelled':
      return `by ${event.by}${because(event.reason)}`;
    case 'resumed':
      return `by ${event.by}`;
    case 'readied':
    case 'completed':
      return '';
  }
};
