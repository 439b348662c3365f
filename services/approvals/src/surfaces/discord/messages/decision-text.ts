import type { Answer } from '@holdpoint/contracts/approval/commands';
import type { ApprovalOutcome, Surface } from '@holdpoint/contracts/approval/status';
import type { Closed, Resolution } from '../../../approval/state.ts';
import { responseShort } from './input-text.ts';
import { inline, moment } from './text.ts';

export const OUTCOMES: Readonly<Record<ApprovalOutcome, string>> = {
  approved: 'Approved',
  rejected: 'Rejected',
  changes_requested: 'Changes requested',
  answered: 'Answered',
  expired: 'Expired',
  cancelled: 'Cancelled',
};

const ANSWERS: Readonly<Record<Answer, string>> = {
  applied: 'it happened',
  not_applied: 'it did not happen',
  retry: 'repeat it',
  skip: 'skip the job',
  done: 'mark as done',
  cancel: 'cancel the task',
};

const WHERE: Readonly<Record<Surface, string>> = {
  api: 'over the API',
  cli: 'on the command line',
  http: 'over HTTP',
  web: 'in the console',
  websocket: 'over a WebSocket',
  discord: 'on Discord',
  webhook: 'by webhook',
  rule: 'by standing rule',
  policy: 'by the policy floor',
  clock: 'by timeout',
};

const NAME_MAX = 200;

const whoOf = ({ outcome, by, surface, votes, rule }: Resolution): string => {
  if (surface === 'clock') return 'not decided in time';
  if (outcome === 'cancelled') return 'no longer needed';
  const where = surface === undefined ? '' : ` ${WHERE[surface]}`;
  if (rule !== undefined) return `by ${inline(by, NAME_MAX)}${where}`;
  const names = votes?.filter(({ decision }) => (outcome === 'approved') === (decision === 'approve'));
  const people = (names ?? []).map((vote) => inline(vote.by, 60)).join(', ');
  return `by ${people === '' ? inline(by, NAME_MAX) : people}${where}`;
};

const whatOf = ({ answer, response }: Resolution): string | undefined => {
  if (response !== undefined) return responseShort(response);
  return answer && ANSWERS[answer];
};

/** The outcome in one line of Discord markup: result, person, surface, time. */
export const decisionText = ({ decided }: Pick<Closed, 'decided'>): string => {
  const answer = whatOf(decided);
  const rule = decided.remembered === undefined ? '' : `; remembered as rule ${decided.remembered}`;
  const outcome = OUTCOMES[decided.outcome];
  return `**${outcome}**${answer === undefined ? '' : `: ${answer}`}, ${whoOf(decided)}, ${moment(decided.at, 'f')}${rule}`;
};
