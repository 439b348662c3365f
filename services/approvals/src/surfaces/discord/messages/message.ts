import type { ApprovalOutcome } from '@holdpoint/contracts/approval/status';
import type { RequestApproval } from '@holdpoint/contracts/approval/commands';
import { type Risk, riskOf } from '@holdpoint/contracts/approval/views';
import { policyOf, type Question, questionOf, reportCommand } from '@holdpoint/contracts/approval/question';
import { jobOf } from '@holdpoint/contracts/values/ids';
import type { Closed, Pending } from '../../../approval/state.ts';
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

/** A message as Discord takes it. */
export type Message = {
  readonly content: string;
  readonly embeds: readonly Embed[];
  readonly components: readonly Row[];
  readonly allowed_mentions: { readonly parse: readonly never[] };
};

/** Discord's own limits, in UTF-16 units to be on the safe side. */
const TITLE_MAX = 256;
const DESCRIPTION_MAX = 4_096;
const FIELD_MAX = 1_024;
const EMBED_MAX = 6_000;

/** What is untrusted may fill so much of a field; the sum leaves the better part of the embed to what is decided on. */
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
  field('Decide', `${moment(state.expiresAt, 'R')} at the latest, ${moment(state.expiresAt, 'f')}`),
  ...votesOf(state),
];

/** What it is about: an effect, all of which was asked for; a job, or what a program asks for, which are no more than a name. */
const subjectOf = ({ id, effect, stuck, input }: RequestApproval): readonly Field[] => {
  if (input !== undefined) return [field('Asks for', WANTED[input.kind], true)];
  return stuck === undefined
    ? [
        field('Action', inline(effect.uses, NAME_MAX), true),
        field('Kind', inline(effect.kind, NAME_MAX), true),
        field('Risk', riskOf(effect), true),
        field('Target', inline(effect.target, TARGET_MAX, seeAll(id))),
      ]
    : [field('Failure', inline(stuck.class, NAME_MAX), true)];
};

/** Only an effect that is to run, or may have, is what its digest says. */
const digestOf = (request: RequestApproval): readonly Field[] => {
  const question = questionOf(request);
  return question === 'effect' || question === 'doubt' ? [field('Digest', `\`${request.digest}\``)] : [];
};

/** Where it can be decided when there is nothing to press. */
const elsewhereOf = ({ id, input }: RequestApproval): Field =>
  input === undefined
    ? field('Buttons', 'its id leaves no room for any: decide on it elsewhere')
    : field('Answer', `on the command line: \`holdpoint approvals respond ${id}\``);

const fieldsOf = (state: Pending | Closed, hasButtons: boolean): readonly Field[] => {
  const { request, audience } = state;
  const { id, requestedBy, task, node, gate } = request;
  return [
    ...subjectOf(request),
    field('Asked for by', inline(requestedBy, NAME_MAX), true),
    field('Step', inline(`${task}/${node}`, NAME_MAX), true),
    ...(gate === undefined ? [] : [field('Gate', inline(gate, NAME_MAX), true)]),
    field('May decide', inline(audience.join(', '), AUDIENCE_MAX, seeAll(id))),
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

/** Why it is stuck, and as much of the report as there is room for. */
const reportText = (request: RequestApproval, why: string, max: number): string => {
  const { body = '' } = request;
  const note = seeAllBy(reportCommand(jobOf(request.task, request.node)));
  const reason = `It does not go on by itself: ${inline(why, 500, note)}`;
  return body.trim() === '' ? reason : `${reason}\n${quoted(body, max - reason.length - 1, note)}`;
};

/** What the gate says, and the arguments: each gets what the other leaves of it. */
const effectText = ({ id, body, effect, doubt }: RequestApproval, max: number): string => {
  const note = seeAll(id);
  const reason = doubt === undefined ? '' : `Nobody can be sure of it: ${inline(doubt.reason, 500, note)}\n`;
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
  doubt: 'What became of it?',
  stuck: 'A job is stuck',
  input: 'A program asks',
};

const titleOf = (state: Pending | Closed): string => {
  const { request } = state;
  const { title } = request;
  const head = state.status === 'closed' ? OUTCOMES[state.decided.outcome] : HEADS[questionOf(request)];
  return `${head}: ${inline(title, TITLE_MAX - head.length - 2)}`;
};

/** An approval as it stands: with buttons as long as it can be decided on. */
export const messageOf = (state: Pending | Closed, token: string): Message => {
  const { request } = state;
  const components = state.status === 'pending' ? buttonsOf(request, token) : [];
  const embed = {
    title: titleOf(state),
    color:
      state.status === 'pending' ? PENDING_COLORS[riskOf(request.effect)] : COLORS[state.decided.outcome],
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

/** The reply that reminds those who are asked. */
export const reminderOf = ({ request, expiresAt }: Pending): string =>
  `Still to be decided ${moment(expiresAt, 'R')} at the latest: ${inline(request.title, NAME_MAX)} (${inline(request.id, 200)})`;

/** The reply that asks others as well. */
export const escalationOf = ({ request, audience, expiresAt }: Pending): string =>
  `These may decide on it from now on: ${inline(audience.join(', '), AUDIENCE_MAX)}. It ends ${moment(expiresAt, 'R')}: ${inline(request.title, NAME_MAX)} (${inline(request.id, 200)})`;
