import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { sha256Of } from '@holdpoint/contracts/values/json';
import type { Arrived, Book, Outcome } from './book.ts';
import type { Holding } from './holding.ts';
import type { Flavour } from './ledger.ts';
import { identityOf, type Incoming } from './memory.ts';
import { chancesOf, drawMode, type Mix, type Mode, type ModeSetting } from './modes.ts';

/** Milliseconds, both ends included. */
export type Range = readonly [min: number, max: number];

/** Settings that can change at run time. */
export type Setting = { readonly mode: ModeSetting; readonly mix: Mix };

export type Delays = { readonly slowMs: Range; readonly holdMs: Range };

type Parts = {
  readonly book: Book;
  readonly holding: Holding;
  readonly seed: string;
  readonly delays: Delays;
  readonly setting: () => Setting;
  readonly stopping: AbortSignal;
};

const BODY_MAX_BYTES = 1_048_576;

type Drawn = { readonly mode: Mode; readonly slowMs: number; readonly holdMs: number };

/** The mode and delays of a request: the same for the same seed, key and arrival. */
const draw = (arrived: Arrived, { seed, delays, setting }: Parts): Drawn => {
  const random = chancesOf(seed, identityOf(arrived), arrived.arrival);
  const { mode, mix } = setting();
  const drawn = drawMode(mix, random);
  return {
    mode: mode === 'mix' ? drawn : mode,
    slowMs: random.int(...delays.slowMs),
    holdMs: random.int(...delays.holdMs),
  };
};

const header = (request: IncomingMessage, name: string): string | null => {
  const value = request.headers[name];
  return typeof value === 'string' && value !== '' ? value : null;
};

/** An integer, or null. */
export const epochOf = (text: string | null): number | null =>
  text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;

/** The body, or undefined when the client left or the body was too long. */
const read = async (request: IncomingMessage): Promise<Buffer | undefined> => {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > BODY_MAX_BYTES) return undefined;
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } catch {
    return undefined; // the ledger has the request, without a digest
  }
};

export const answerJson = (response: ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`);
};

/** A repeat gets the same bytes as the first answer. */
const answerOutcome = (response: ServerResponse, outcome: Outcome): void => {
  switch (outcome.type) {
    case 'applied':
      return answerJson(response, 200, { applied: true, n: outcome.n });
    case 'repeated':
      return answerJson(response, 200, { applied: true, n: outcome.of });
    case 'refused':
      return answerJson(response, outcome.status, { applied: false });
  }
};

const answerHalf = (response: ServerResponse): void => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
  response.write('{"applied":', () => response.destroy());
};

const reset = ({ socket }: IncomingMessage): void => void socket.resetAndDestroy();

type Exchange = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly incoming: Incoming;
  readonly arrived: Arrived;
  readonly drawn: Drawn;
};

const act = async (exchange: Exchange, { book, holding, stopping }: Parts): Promise<void> => {
  const { request, response, incoming, arrived, drawn } = exchange;
  switch (drawn.mode) {
    case 'normal':
      return answerOutcome(response, await book.apply(incoming));
    case 'slow':
      await sleep(drawn.slowMs, undefined, { signal: stopping }).catch(() => undefined);
      if (stopping.aborted) return undefined; // too slow: it has never been applied
      return answerOutcome(response, await book.apply(incoming));
    case 'forget':
      return answerOutcome(response, await book.apply(incoming, true));
    case 'apply_then_reset':
      await book.apply(incoming);
      return reset(request);
    case 'apply_then_500':
      await book.apply(incoming);
      return answerJson(response, 500, { error: 'out of order' });
    case 'apply_then_cut':
      await book.apply(incoming);
      return answerHalf(response);
    case 'apply_then_hang':
      await book.apply(incoming);
      return undefined;
    case 'lie_404':
      await book.apply(incoming);
      return answerJson(response, 404, { error: 'not found' });
    case 'lie_200':
      await book.refuse(arrived, 200);
      return answerJson(response, 200, { applied: true, n: incoming.n });
    case 'refuse_503':
      await book.refuse(arrived, 503);
      return answerJson(response, 503, { error: 'come again' });
    case 'hold':
      await holding.hold(incoming, drawn.holdMs);
      return reset(request);
    case 'reset_before_reading':
      return reset(request);
  }
};

/** Records a request, handles it in its mode, and answers or not. */
export const serveTarget = async (
  request: IncomingMessage,
  response: ServerResponse,
  flavour: Flavour,
  parts: Parts,
): Promise<void> => {
  const arrived = parts.book.arrive({
    flavour,
    method: request.method ?? '',
    path: request.url ?? '',
    key: header(request, 'idempotency-key') ?? header(request, 'holdpoint-effect'),
    epoch: epochOf(header(request, 'holdpoint-epoch')),
  });
  const drawn = draw(arrived, parts);
  const body = drawn.mode === 'reset_before_reading' ? undefined : await read(request);
  if (body === undefined) {
    await parts.book.received(arrived, drawn.mode, null, 0);
    return reset(request);
  }
  const digest = sha256Of(body);
  void parts.book.received(arrived, drawn.mode, digest, body.length);
  return act({ request, response, incoming: { ...arrived, digest }, arrived, drawn }, parts);
};
