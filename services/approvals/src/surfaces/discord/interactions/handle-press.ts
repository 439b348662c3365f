import { ERRORS, HoldpointError } from '@holdpoint/contracts/values/errors';
import { readState } from '@holdpoint/runtime/store/read';
import type { Closed, Pending, Principal } from '../../../approval/state.ts';
import type { SurfaceDeps } from '../../surface-deps.ts';
import { type Answer, update, whisper } from './responses.ts';
import { type CustomId, parseCustomId } from '../messages/custom-id.ts';
import { decisionText } from '../messages/decision-text.ts';
import type { Deliveries } from '../deliveries.ts';
import { type UserInteraction, textsOf } from './interaction.ts';
import { messageOf } from '../messages/message.ts';
import { formFor, isFormSubmission, type Statement, statementOf, foreignButton } from './statement.ts';
import { inline } from '../messages/text.ts';

type OpenOrClosed = Pending | Closed;

const stateOf = async ({ pool, decider }: SurfaceDeps, id: string): Promise<OpenOrClosed> => {
  const state = await readState(pool, decider, id);
  if (state.status === 'pending' || state.status === 'closed') return state;
  throw new HoldpointError('APPROVALS_UNKNOWN', `unknown approval: ${id}`);
};

const decideOn = async (
  deps: SurfaceDeps,
  { id, token }: Pick<CustomId, 'id' | 'token'>,
  said: Statement,
  { request: { digest } }: OpenOrClosed,
  by: Principal,
  stale: () => void,
): Promise<Answer> => {
  const { status, approvalsMissing: missing = 0 } = await deps.decisions.decide(
    by,
    { id, digest, token, ...said },
    { surface: 'discord' },
  );
  if (status === 'pending') {
    stale();
    return whisper(`Your vote counts. Approvals still needed: ${String(missing)}.`);
  }
  return update(messageOf(await stateOf(deps, id), token));
};

/** The reply to a refused decision. */
const refusalOf = async (deps: SurfaceDeps, error: HoldpointError, id: string): Promise<Answer> => {
  const { code, message } = error;
  const said = `${inline(message, 1_200)} (${inline(code, 100)})`;
  if (code !== 'APPROVALS_ALREADY_DECIDED') return whisper(said);
  const state = await stateOf(deps, id);
  return whisper(state.status === 'closed' ? `Already decided. ${decisionText(state)}` : said);
};

/** Checks the button before anything else happens. Throws `HoldpointError`. */
const check = (deps: SurfaceDeps, pressed: UserInteraction): CustomId => {
  const parsed = parseCustomId(pressed.data.custom_id);
  if (parsed === undefined || !deps.tokens.is(parsed.id, parsed.token)) throw foreignButton();
  // A button cannot submit a form, nor a form press a button.
  if (isFormSubmission(parsed.press) !== (pressed.type === 5)) throw foreignButton();
  return parsed;
};

const done = async (
  deps: SurfaceDeps,
  pressed: UserInteraction,
  { press, ...named }: CustomId,
  by: Principal,
  stale: () => void,
): Promise<Answer> => {
  const state = await stateOf(deps, named.id);
  const { digest } = state.request;
  if (!digest.startsWith(named.digest))
    throw new HoldpointError('APPROVALS_DIGEST_MISMATCH', 'the effect differs from the one that was shown');
  if (press.does !== 'ask' && press.does !== 'open')
    return decideOn(deps, named, statementOf(press, state.request, textsOf(pressed)), state, by, stale);
  if (state.status === 'pending') return formFor({ ...named, press }, state.request);
  return whisper(`Already decided. ${decisionText(state)}`);
};

/** `result` is a metric label: an outcome or an error code. */
export type Outcome = { readonly answer: Answer; readonly result: string };

/** Handles a press of an authenticated person. Errors that the person can act on become replies. */
export const press = async (
  deps: SurfaceDeps,
  { refresh }: Pick<Deliveries, 'refresh'>,
  pressed: UserInteraction,
  by: Principal,
): Promise<Outcome> => {
  let id = '';
  const refreshMessage = (): void => {
    if (pressed.message !== undefined) refresh(id, pressed.message.id);
  };
  try {
    const named = check(deps, pressed);
    id = named.id;
    const answer = await done(deps, pressed, named, by, refreshMessage);
    const { does } = named.press;
    return { answer, result: does === 'ask' || does === 'open' ? 'form' : 'decided' };
  } catch (error) {
    if (!(error instanceof HoldpointError)) throw error;
    const { code } = error;
    const level = ERRORS[code] >= 500 || code === 'APPROVALS_TOKEN_MISMATCH' ? 'warn' : 'info';
    deps.log[level]({ code, approval: id, by: by.name }, 'discord decision refused');
    // The message may show buttons that no longer apply.
    if (code === 'APPROVALS_ALREADY_DECIDED') refreshMessage();
    return { answer: await refusalOf(deps, error, id), result: code };
  }
};
