import type { ProgramEvent } from '@holdpoint/contracts/program/events';
import { shorten } from '../output/columns.ts';

const TEXT_SHOWN = 60;

/** Details of an event of a TypeScript workflow, besides its name and phase. */
export const programText = (event: ProgramEvent): string => {
  switch (event.type) {
    case 'program_submitted':
      return `${event.program.id}@${event.program.version} by ${event.requestedBy}: ${shorten(event.goal, TEXT_SHOWN)}`;
    case 'phase_ordered':
      return `${event.node}: attempt ${String(event.attempt)}${event.activation === 'respond' ? ', with a response' : ''}`;
    case 'phase_started':
      return `${event.node}: by ${event.worker}`;
    case 'phase_waiting':
      return `${event.node}: ${event.reason}`;
    case 'phase_recorded':
      return `${event.node}: ${event.entry.kind} ${event.entry.key}${event.entry.kind === 'effect' ? `, task ${event.entry.task}` : ''}`;
    case 'phase_entry_completed':
      return `${event.node}: ${event.key}${event.ended === undefined ? ' has expired' : `: ${event.ended.outcome}`}`;
    case 'phase_suspended':
      return `${event.node}: waits for ${shorten(event.on.join(', '), TEXT_SHOWN)}`;
    case 'phase_returned':
      return `${event.node}: ${event.lost ? 'lost' : 'released'} by ${event.worker}: ${event.reason}`;
    case 'phase_retry_prepared':
      return event.node;
    case 'phase_completed':
      return `${event.node}${event.next === undefined ? '' : `, on to ${event.next}`}`;
    case 'phase_skipped':
      return `${event.node}, on to ${event.next}: ${event.reason}`;
    case 'phase_failed':
      return `${event.node}: ${event.stage}: ${event.error.code}: ${event.error.message}`;
    case 'phase_retrying':
      return `${event.node}: attempt ${String(event.attempt)} in ${String(event.delayMs)} ms${event.by === undefined ? '' : `, by ${event.by}`}`;
    case 'input_requested':
      return `${event.node}: ${event.asks.input.kind}: "${shorten(event.asks.title, TEXT_SHOWN)}", question ${event.approval}`;
    case 'input_received':
      return `${event.node}: ${event.answer.outcome} by ${event.answer.by}`;
    case 'state_checkpoint':
      return `${event.node}: ${event.reason}`;
  }
};
