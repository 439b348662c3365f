import { setTimeout as sleep } from 'node:timers/promises';
import { ERRORS, errorBody, HoldpointError } from '@holdpoint/contracts/values/errors';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import { parseJson } from '@holdpoint/runtime/engine/inbound';
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { SurfaceDeps } from '../../surface-deps.ts';
import { type Answer, pong, whisper } from './responses.ts';
import type { InteractionCounts } from '../metrics.ts';
import type { Deliveries } from '../deliveries.ts';
import { Interaction, type UserInteraction, userOf } from './interaction.ts';
import { press } from './handle-press.ts';
import type { DiscordSettings } from '../settings.ts';
import { createReplayGuard, isSigned } from './signature.ts';

export const PATH = '/discord/interactions';
/** Far more than Discord sends for a button. */
const BODY_MAX_BYTES = 256 * 1_024;
/** Discord gives up after three seconds. The decision may take longer than the reply. */
const ANSWER_WITHIN_MS = 2_500;
const LOG_EVERY_MS = 10_000;

const failed = (context: Context, error: HoldpointError): Response => {
  const { code, message } = error;
  return context.json(
    errorBody(code, message),
    ERRORS[code] === 413 ? 413 : ERRORS[code] === 401 ? 401 : 400,
  );
};

const unsigned = (message: string): HoldpointError =>
  new HoldpointError('APPROVALS_SIGNATURE_INVALID', message);

type Parts = {
  readonly deps: SurfaceDeps;
  readonly deliveries: Pick<Deliveries, 'refresh'>;
  readonly publicKey: DiscordSettings['publicKey'];
  readonly counts: InteractionCounts;
  readonly now?: () => number;
};

/** The endpoint for Discord's interactions. It verifies the signature before it parses anything. */
export const discordRoutes = ({ deps, deliveries, publicKey, counts, now = Date.now }: Parts): Hono => {
  const { log } = deps;
  const isSeen = createReplayGuard();
  let loggedAt = -Infinity;

  /** Anyone can send unsigned requests, so they are counted and logged at intervals. */
  const recordRejected = (code: string): void => {
    counts.add(code);
    if (now() - loggedAt < LOG_EVERY_MS) return;
    loggedAt = now();
    log.warn({ code }, 'refused an interaction that was not signed by discord');
  };

  const pressedBy = async (pressed: UserInteraction): Promise<Answer> => {
    const user = userOf(pressed);
    const by = user === undefined ? undefined : deps.identity.ofDiscord(user);
    if (by === undefined) {
      counts.add('unknown_user');
      log.warn({ user }, 'unknown discord user pressed a button');
      return whisper('Your Discord user is unknown. Ask an administrator to add you before you decide.');
    }
    const { answer, result } = await press(deps, deliveries, pressed, by);
    counts.add(result);
    return answer;
  };

  const answerTo = async (pressed: UserInteraction): Promise<Answer> => {
    const work = pressedBy(pressed).catch((error: unknown) => {
      counts.add('failed');
      log.error(errorFields(error), 'discord interaction failed');
      return whisper('That failed; the service log has the cause. Please try again.');
    });
    const waiting = new AbortController();
    const late = sleep(ANSWER_WITHIN_MS, undefined, { signal: waiting.signal }).then(
      () => whisper('This takes longer than usual. The message will show the result.'),
      () => whisper(''),
    );
    const answer = await Promise.race([work, late]);
    waiting.abort();
    return answer;
  };

  const receive = async (context: Context): Promise<Response> => {
    const body = new Uint8Array(await context.req.arrayBuffer());
    const signature = context.req.header('x-signature-ed25519');
    const timestamp = context.req.header('x-signature-timestamp');
    if (!isSigned(publicKey, { signature, timestamp, body }, now()))
      throw unsigned('the signature is missing, wrong or too old');
    const { data: interaction } = Interaction.safeParse(parseJson(body));
    if (interaction === undefined) throw new HoldpointError('CONTRACT_INVALID', 'unknown interaction');
    if (interaction.type === 1) return context.json(pong);
    if (isSeen(interaction.id, now())) throw unsigned('repeated interaction');
    return context.json(await answerTo(interaction));
  };

  const limit = bodyLimit({
    maxSize: BODY_MAX_BYTES,
    onError: (context) => {
      // The rest of the body is not read.
      context.header('connection', 'close');
      return failed(context, new HoldpointError('CONTRACT_PAYLOAD_TOO_LARGE', 'too large'));
    },
  });
  return new Hono().post(PATH, limit, async (context) => {
    try {
      return await receive(context);
    } catch (error) {
      if (!(error instanceof HoldpointError)) throw error;
      recordRejected(error.code);
      return failed(context, error);
    }
  });
};
