import type { ApprovalOutcome } from '@holdpoint/contracts/approval/status';
import { factRows } from '@holdpoint/contracts/approval/facts-text';
import { raisedTexts } from '@holdpoint/contracts/approval/floor-text';
import type { RequestApproval } from '@holdpoint/contracts/approval/commands';
import { type Risk, riskOf } from '@holdpoint/contracts/approval/views';
import { policyOf, type Question, questionOf, reportCommand } from '@holdpoint/contracts/approval/question';
import { jobOf } from '@holdpoint/contracts/values/ids';
import type { AdmittedRequest, Closed, Pending } from '../../../approval/state.ts';
import { missingOf } from '../../../approval/tally.ts';
import { buttonsOf, type Row } from './buttons.ts';
import { decisionText, OUTCOMES } from './decision-text.ts';
import { inputText, responseText, WANTED } from './input-text.ts';
import { inline, jsonBlock, moment, quoted, seeAll, seeAllBy } from './text.ts';

type Field = { readonly name: string; readonly value: string; readonly inline?: boolean };
type Embed = {
  readonly title: string;
  readonly description: string;
  readonly color: number;
  readonly fields: readonly Field[];
  readonly footer: { readonly text: string };
};

/** Discord's format of a message. */
export type Message = {
  readonly content: string;
  readonly embeds: readonly Embed[];
  readonly components: readonly Row[];
  readonly allowed_mentions: { readonly parse: readonly never[] };
};

/** Discord's limits, counted in UTF-16 units to be safe. */
const TITLE_MAX = 256;
const DESCRIPTION_MAX = 4_096;
const FIELD_MAX = 1_024;
const EMBED_MAX = 6_000;

/** Limits of untrusted text per field; together they leave most of the embed to the effect itself. */
const TARGET_MAX = 600;
const NAME_MAX = 250;
const AUDIENCE_MAX = 400;
const COMMENT_MAX = 900;

export const NO_MENTIONS = { parse: [] } as const;

const PENDING_COLORS: Readonly<Record<Risk, number>> = { low: 0x5865f2, medium: 0xfaa61a, high: 0xed4245 };
const COLORS: Readonly<Record<ApprovalOutcome, number>> = {
  approved: 0x57f287,
  rejected: 0xed4245,
  changes_requested: 0xfee75c,
  answered: 0x57f287,
  expired: 0x747f8d,
  cancelled: 0x747f8d,
};

const field = (name: string, value: string, isInline = false): Field => ({
  name,
  value: value.slice(0, FIELD_MAX),
  ...(isInline && { inline: true }),
});

const votesOf = (state: Pending): readonly Field[] => {
  const policy = policyOf(state.request);
  if (policy.quorum === 1) return [];
  const names = state.votes.map(({ by, decision }) => `${inline(by, 60)} (${inline(decision, 20)})`);
  const missing = `${String(missingOf(state.votes, policy))} of ${String(policy.quorum)} still needed`;
  return [field('Votes', [missing, ...names].join('; '))];
};

const endOf = ({ request, decided }: Closed): readonly Field[] => {
  const { comment, response } = decided;
  return [
    field('Decision', decisionText({ decided })),
    ...(response === undefined ? [] : [field('Response', responseText(request.id, request.input, response))]),
    ...(comment === undefined || comment === ''
      ? []
      : [field('Comment', quoted(comment, COMMENT_MAX, seeAll(request.id)))]),
  ];
};

const deadlineOf = (state: Pending): readonly Field[] => [
  field('Decide', `${moment(state.expiresAt, 'R')} (${moment(state.expiresAt, 'f')})`),
  ...votesOf(state),
];

const riskIn = ({ risk, effect }: AdmittedRequest): Risk => risk ?? riskOf(effect);

/** Heading of the subject: the whole effect, or only a name for jobs and questions of programs. */
const subjectOf = (request: AdmittedRequest): readonly Field[] => {
  const { id, effect, stuck, input } = request;
  if (input !== undefined) return [field('Asks for', WANTED[input.kind], true)];
  return stuck === undefined
    ? [
        field('Action', inline(effect.uses, NAME_MAX), true),
        field('Kind', inline(effect.kind, NAME_MAX), true),
        field('Risk', riskIn(request), true),
        field('Target', inline(effect.target, TARGET_MAX, seeAll(id))),
      ]
    : [field('Failure', inline(stuck.class, NAME_MAX), true)];
};

/** Only an effect has a meaningful digest. */
const digestOf = (request: RequestApproval): readonly Field[] => {
  const question = questionOf(request);
  return question === 'effect' || question === 'in_doubt' ? [field('Digest', `\`${request.digest}\``)] : [];
};

/** The commands to decide with when there are no buttons. */
const elsewhereOf = ({ id, input }: RequestApproval): Field =>
  input === undefined
    ? field('Buttons', 'its id is too long for buttons: decide on another surface')
    : field('Answer', `on the command line: \`holdpoint approval answer ${id}\``);

/** The demands that the organisation's floor adds to those of the requester. */
const policyFieldOf = (request: AdmittedRequest): readonly Field[] => {
  const { id, floor } = request;
  if (floor?.entries === undefined) return [];
  const within = (floor.within ?? []).map((names) => `members of ${names.join(', ')}`);
  const texts = raisedTexts(request);
  const raised = texts.length === 0 ? [] : [`raised ${texts.join(', ')}`];
  return [
    field('Policy', inline([...floor.entries, ...within, ...raised].join('; '), AUDIENCE_MAX, seeAll(id))),
  ];
};

/** Limit for one fact: all of them share a field, because Discord limits the number of fields. */
const FACT_MAX = 100;

/** Goal, key, criteria, reviews, artifact and rollback hint. */
const factFieldsOf = (request: RequestApproval): readonly Field[] => {
  const { facts, effect } = request;
  if (facts === undefined || questionOf(request) !== 'effect') return [];
  const rows = [['key', effect.idempotencyKey] as const, ...factRows(facts)];
  const lines = rows.map(([name, text]) => `${name}: ${inline(text.replaceAll('\n', ' '), FACT_MAX)}`);
  return [field('Task', [`goal: ${inline(facts.goal, FACT_MAX)}`, ...lines].join('\n'))];
};

const fieldsOf = (state: Pending | Closed, hasButtons: boolean): readonly Field[] => {
  const { request, audience } = state;
  const { id, requestedBy, task, node, gate } = request;
  return [
    ...subjectOf(request),
    field('Requested by', inline(requestedBy, NAME_MAX), true),
    field('Step', inline(`${task}/${node}`, NAME_MAX), true),
    ...(gate === undefined ? [] : [field('Gate', inline(gate, NAME_MAX), true)]),
    field('May decide', inline(audience.join(', '), AUDIENCE_MAX, seeAll(id))),
    ...policyFieldOf(request),
    ...factFieldsOf(request),
    ...digestOf(request),
    ...(state.status === 'pending' ? deadlineOf(state) : endOf(state)),
    ...(hasButtons || state.status === 'closed' ? [] : [elsewhereOf(request)]),
  ];
};

const descriptionOf = (request: RequestApproval, max: number): string => {
  const { stuck, input } = request;
  if (input !== undefined) return inputText(request, input, max);
  return stuck === undefined ? effectText(request, max) : reportText(request, stuck.reason, max);
};

/** The reason why the job is stuck, and as much of the report as fits. */
const reportText = (request: RequestApproval, why: string, max: number): string => {
  const { body = '' } = request;
  const note = seeAllBy(reportCommand(jobOf(request.task, request.node)));
  const reason = `The job is stuck: ${inline(why, 500, note)}`;
  return body.trim() === '' ? reason : `${reason}\n${quoted(body, max - reason.length - 1, note)}`;
};

/** The body of the gate and the arguments share the room. */
const effectText = ({ id, body, effect, inDoubt: doubt }: RequestApproval, max: number): string => {
  const note = seeAll(id);
  const reason = doubt === undefined ? '' : `The outcome is unknown: ${inline(doubt.reason, 500, note)}\n`;
  const left = max - reason.length - 1;
  const whole = jsonBlock(effect.args, left, note);
  const text =
    body === undefined || body.trim() === ''
      ? ''
      : `${quoted(body, left - Math.min(whole.length, Math.floor(left / 2)) - 1, note)}\n`;
  return `${reason}${text}${jsonBlock(effect.args, left - text.length, note)}`;
};

const lengthOf = ({ title, fields, footer }: Omit<Embed, 'description'>): number =>
  [title, footer.text, ...fields.flatMap(({ name, value }) => [name, value])].join('').length;

const HEADS: Readonly<Record<Question, string>> = {
  effect: 'Approval needed',
  in_doubt: 'Did this effect happen?',
  stuck: 'A job is stuck',
  input: 'A program asks',
};

const titleOf = (state: Pending | Closed): string => {
  const { request } = state;
  const { title } = request;
  const head = state.status === 'closed' ? OUTCOMES[state.decided.outcome] : HEADS[questionOf(request)];
  return `${head}: ${inline(title, TITLE_MAX - head.length - 2)}`;
};

/** The current state of an approval, with buttons while it is pending. */
export const messageOf = (state: Pending | Closed, token: string): Message => {
  const { request } = state;
  const components = state.status === 'pending' ? buttonsOf(request, token) : [];
  const embed = {
    title: titleOf(state),
    color: state.status === 'pending' ? PENDING_COLORS[riskIn(request)] : COLORS[state.decided.outcome],
    fields: fieldsOf(state, components.length > 0),
    footer: { text: `approval ${request.id}, revision ${String(request.revision)}` },
  };
  const max = Math.min(DESCRIPTION_MAX, EMBED_MAX - lengthOf(embed));
  return {
    content: '',
    embeds: [{ ...embed, description: descriptionOf(request, max) }],
    components,
    allowed_mentions: NO_MENTIONS,
  };
};

/** The reply that reminds the approvers. */
export const reminderOf = ({ request, expiresAt }: Pending): string =>
  `Reminder: a decision is due ${moment(expiresAt, 'R')}: ${inline(request.title, NAME_MAX)} (${inline(request.id, 200)})`;

/** The reply that adds approvers. */
export const escalationOf = ({ request, audience, expiresAt }: Pending): string =>
  `Escalated. These may decide now: ${inline(audience.join(', '), AUDIENCE_MAX)}. It expires ${moment(expiresAt, 'R')}: ${inline(request.title, NAME_MAX)} (${inline(request.id, 200)})`;
