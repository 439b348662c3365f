import { ERRORS, HoldpointError } from '@holdpoint/contracts/errors';
import { readState } from '@holdpoint/runtime/postgres/read';
import type { Closed, Pending, Principal } from '../../domain/approval-state.ts';
import type { Office } from '../../office.ts';
import { type Answer, form, update, whisper } from './answers.ts';
import { type CustomId, customId, parseCustomId } from './custom-id.ts';
import { decisionText } from './decision-text.ts';
import type { Deliveries } from './deliveries.ts';
import { commentOf, type Pressed } from './interaction.ts';
import { messageOf } from './message.ts';
import { ruleLike } from './remember.ts';
import { inline } from './text.ts';

type Asked = Pending | Closed;
type Decide = Extract<CustomId['press'], { does: 'decide' | 'say' }>;

const stateOf = async ({ pool, decider }: Office, id: string): Promise<Asked> => {
  const state = await readState(pool, decider, id);
  if (state.status === 'pending' || state.status === 'closed') return state;
  throw new HoldpointError('APPROVALS_UNKNOWN', `no approval is called ${id}`);
};

const FORMS = {
  reject: { press: 'no!', title: 'Reject with a reason', label: 'Why?' },
  request_changes: { press: 'chg!', title: 'Request changes', label: 'What should be different?' },
} as const;

const formFor = ({ press, id, token }: CustomId, digest: string): Answer => {
  const { press: name, title, label } = FORMS[press.choice === 'reject' ? 'reject' : 'request_changes'];
  const named = customId(name, { id, digest, token });
  // It is no longer than that of the button that asked for it.
  if (named === undefined) throw new Error('the id of a form is too long');
  return form(named, title, label);
};

const ruleFor = (press: Decide, { request }: Asked) => {
  if (press.does === 'say' || press.remember === undefined) return undefined;
  const rule = ruleLike(request);
  if (rule === undefined)
    throw new HoldpointError('APPROVALS_RULE_REFUSED', 'no rule may decide on the like of it');
  return rule;
};

const decideOn = async (
  office: Office,
  { press, id, token }: Omit<CustomId, 'press'> & { readonly press: Decide },
  state: Asked,
  by: Principal,
  comment: string | undefined,
  stale: () => void,
): Promise<Answer> => {
  const remember = ruleFor(press, state);
  const { status, missing = 0 } = await office.decisions.decide(
    by,
    { id, decision: press.choice, digest: state.request.digest, token, comment, remember },
    { surface: 'discord' },
  );
  if (status === 'pending') {
    stale();
    return whisper(`It counts. Still needed to approve: ${String(missing)}.`);
  }
  return update(messageOf(await stateOf(office, id), token));
};

/** What a person is told that something stands against. */
const refusalOf = async (office: Office, error: HoldpointError, id: string): Promise<Answer> => {
  const { code, message } = error;
  const said = `${inline(message, 1_200)} (${inline(code, 100)})`;
  if (code !== 'APPROVALS_ALREADY_DECIDED') return whisper(said);
  const state = await stateOf(office, id);
  return whisper(state.status === 'closed' ? `It is decided already. ${decisionText(state)}` : said);
};

/** A button or a form that cannot be ours, or not of this approval. */
const strange = (): HoldpointError =>
  new HoldpointError('APPROVALS_TOKEN_MISMATCH', 'this button belongs to no approval, or was changed');

/** What of it is in the way; thrown before anything is done. */
const check = (office: Office, pressed: Pressed): CustomId => {
  const parsed = parseCustomId(pressed.data.custom_id);
  if (parsed === undefined || !office.tokens.is(parsed.id, parsed.token)) throw strange();
  // Forms are sent, buttons are pressed; nothing is both.
  if ((parsed.press.does === 'say') !== (pressed.type === 5)) throw strange();
  return parsed;
};

const done = async (
  office: Office,
  pressed: Pressed,
  { press, ...named }: CustomId,
  by: Principal,
  stale: () => void,
): Promise<Answer> => {
  const state = await stateOf(office, named.id);
  const { digest } = state.request;
  if (!digest.startsWith(named.digest))
    throw new HoldpointError('APPROVALS_DIGEST_MISMATCH', 'the effect is not the one that was shown');
  if (press.does !== 'ask') {
    const comment = commentOf(pressed)?.trim();
    if (press.does === 'say' && !comment) throw new HoldpointError('CONTRACT_INVALID', 'the text is empty');
    return decideOn(office, { ...named, press }, state, by, comment, stale);
  }
  if (state.status === 'pending') return formFor({ ...named, press }, digest);
  return whisper(`It is decided already. ${decisionText(state)}`);
};

/** With what came of it: the name of a figure, or the code of what stood against it. */
export type Outcome = { readonly answer: Answer; readonly result: string };

/** Does what an authenticated person's button says. Never throws what the person could do something about. */
export const press = async (
  office: Office,
  { refresh }: Pick<Deliveries, 'refresh'>,
  pressed: Pressed,
  by: Principal,
): Promise<Outcome> => {
  let id = '';
  const stale = (): void => {
    if (pressed.message !== undefined) refresh(id, pressed.message.id);
  };
  try {
    const named = check(office, pressed);
    id = named.id;
    const answer = await done(office, pressed, named, by, stale);
    return { answer, result: named.press.does === 'ask' ? 'form' : 'decided' };
  } catch (error) {
    if (!(error instanceof HoldpointError)) throw error;
    const { code } = error;
    const level = ERRORS[code] >= 500 || code === 'APPROVALS_TOKEN_MISMATCH' ? 'warn' : 'info';
    office.log[level]({ code, approval: id, by: by.name }, 'a decision on discord was refused');
    // It may show buttons that are of no use any more.
    if (code === 'APPROVALS_ALREADY_DECIDED') stale();
    return { answer: await refusalOf(office, error, id), result: code };
  }
};
