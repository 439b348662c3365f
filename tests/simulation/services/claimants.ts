import { createHash, createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { ClaimedOrder, EndClaim } from '@holdpoint/contracts/effect/remote';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { Claimants as Desk } from '@holdpoint/executor/adapters/claimants/claimants';
import { LEASE_MS } from '@holdpoint/executor/effect/timing';
import { createSigner } from '@holdpoint/runtime/service/jws';
import { runClaimant } from '@holdpoint/sdk/remote/claimant';
import type { RemoteContext } from '@holdpoint/sdk/remote/define-effect';
import { nothingHappened } from '@holdpoint/sdk/remote/effect-errors';
import { createLife, type Life } from '../process-life.ts';
import type { Answer, Program } from '../outside/target.ts';
import { type Args, remoteEffects } from '../workload/held-effects.ts';
import { claimsIn } from './grants.ts';
import type { World } from '../world.ts';

/** A program of a user that carries out effects. */
export type SimulatedClaimant = {
  readonly crash: () => void;
  readonly freeze: (ms: number) => void;
};

const CLAIMANTS = 3;
const CONCURRENCY = 2;
const WHO = { principal: 'deployer' };
const WAITS_MS = 5_000;
const REQUEST_TIMEOUT_MS = 3_000;
const FUNCTION_TIMEOUT_MS = 8_000;
const FROZEN_AT_MOST_MS = 2 * LEASE_MS;
const RESTARTS_AFTER_MS = [100, 4_000] as const;
/** A program without work ends, and the next commit of the ledger starts it again. So the timeline ends. */
const IDLE_MS = 60_000;
const LATE_MS = 20_000;

const { privateKey: approvalsKey, publicKey } = generateKeyPairSync('ed25519');
const sign = createSigner(approvalsKey);
const signatures = new Map<string, string>();
/** A grant of the simulation under a real signature, which the claimant of the SDK verifies. A forged one stays as it is. */
const reallySigned = (token: string): string => {
  const known = signatures.get(token);
  if (known !== undefined) return known;
  const claims = claimsIn(token);
  const real = typeof claims === 'object' && claims !== null ? sign(claims) : token;
  signatures.set(token, real);
  return real;
};

const keys = new Map<string, KeyObject>();
/** The same key for the same process in every run. */
const keyOf = (name: string): KeyObject => {
  const known = keys.get(name);
  if (known !== undefined) return known;
  const prefix = Buffer.from('302e020100300506032b657004220420', 'hex');
  const seed = createHash('sha256').update(name).digest();
  const key = createPrivateKey({ key: Buffer.concat([prefix, seed]), format: 'der', type: 'pkcs8' });
  keys.set(name, key);
  return key;
};

const unanswered = (): HoldpointError => new HoldpointError('RUNTIME_UNAVAILABLE', 'no answer');

/** Programs on the claimant of the SDK, behind a faulty network, two of them under one name. */
export const startClaimants = (
  world: World,
  desks: () => readonly Desk[],
): { readonly all: readonly SimulatedClaimant[]; readonly checkEnds: () => void } => {
  const { timeline, choices, weather, watchers, checker, reports, target, databases, trace } = world;
  /** Results that the ledger has acknowledged, by effect and epoch. */
  const acknowledged = new Map<string, EndClaim['result']['kind']>();
  const sleeping = new Set<() => void>();
  let newsAt = 0;
  watchers.committed.push((service) => {
    if (service !== 'executor') return;
    newsAt = timeline.now();
    for (const start of sleeping) timeline.in(weather.latency('a claimant is started'), start);
    sleeping.clear();
  });

  /** A request to some executor. Request, work and answer each take time, or get lost. */
  const ask = <Reply>(
    life: Life,
    place: string,
    timeoutMs: number,
    what: (desk: Desk) => Promise<Reply>,
    arrived: () => void = () => undefined,
  ): Promise<Reply> =>
    new Promise((resolve, reject) => {
      const stop = life.clock.after(timeoutMs, () => reject(unanswered()));
      const answer = (tell: () => void): void => {
        if (weather.strikes('answer to a claimant is lost', place)) return;
        timeline.in(weather.latency(`${place} <`), () =>
          life.enter(() => {
            stop();
            tell();
          }),
        );
      };
      const arrive = (): void => {
        const up = desks();
        if (up.length === 0) return;
        timeline.stir();
        what(choices.pick(place, up)).then(
          (told) => answer(() => resolve(told)),
          (error: unknown) => answer(() => reject(error instanceof Error ? error : new Error(String(error)))),
        );
        arrived();
      };
      if (weather.strikes('request of a claimant is doubled', place))
        timeline.in(choices.between(`${place} again`, 5, LATE_MS), arrive);
      if (!weather.strikes('request of a claimant is lost', place))
        timeline.in(weather.latency(`${place} >`), arrive);
    });

  const startOne = (name: string, seat: string): SimulatedClaimant => {
    let lives = 0;
    let life: Life | undefined;

    const crash = (): void => {
      if (life?.isAlive() !== true) return;
      trace.note(seat, '', () => 'dies');
      life.end();
      timeline.in(choices.between(`restart ${seat}`, ...RESTARTS_AFTER_MS), start);
    };

    /** The function of the user: it sends one request to the target. */
    const run =
      (born: Life, uses: string) =>
      async (args: Args, context: RemoteContext): Promise<{ readonly sent: string }> => {
        const place = `${seat} ${context.id}`;
        const pass = (ms: number): Promise<void> =>
          new Promise((resolve) => void born.clock.after(ms, resolve));
        if (weather.strikes('claimant freezes before its request', place))
          born.freeze(choices.between(`frozen ${place}`, 0, FROZEN_AT_MOST_MS));
        await pass(weather.latency(place));
        if (weather.strikes('target refuses', place)) throw nothingHappened('REMOTE_DECLINED', 'declined');
        await context.assertInForce().catch(() => {
          throw nothingHappened('REMOTE_NOT_BEGUN', 'the lease may be over');
        });
        return new Promise((resolve, reject) => {
          const request = { effect: context.id, uses, args };
          let program: Program | undefined;
          const giveUp = born.clock.after(FUNCTION_TIMEOUT_MS, () => {
            program?.end();
            reject(new Error('no answer'));
          });
          const answered = (answer: Answer): void =>
            born.enter(() => {
              giveUp();
              if (answer === 'error') reject(new Error('the target failed'));
              else resolve({ sent: context.id });
            });
          if (uses === 'cap.remote.probeable') {
            // A child of the process, which ends with it.
            program = target.launch(request, answered);
            const { end, hurry } = program;
            born.atEnd(() => (choices.happens(`done before the end ${place}`, 0.3) ? hurry() : end()));
          } else target.send(request, answered);
          if (weather.strikes('claimant freezes in its effect', place))
            born.freeze(choices.between(`frozen ${place}`, 0, FROZEN_AT_MOST_MS));
          if (weather.strikes('claimant dies in its effect', place)) crash();
        });
      };

    const probe =
      (born: Life) =>
      (_args: Args, { id }: RemoteContext): Promise<'applied' | 'not_applied'> =>
        new Promise((resolve) => {
          born.clock.after(weather.latency(`probe ${seat} ${id}`), () =>
            resolve(target.applications(id) > 0 ? 'applied' : 'not_applied'),
          );
        });

    /** An answer as it arrives: the network may have changed it. */
    const received = (item: ClaimedOrder): ClaimedOrder => {
      const { order, statement } = item;
      const place = `${seat} gets ${order.id}`;
      const real = {
        ...item,
        order: { ...order, ...(order.grant !== undefined && { grant: reallySigned(order.grant) }) },
        ...(statement !== undefined && { statement: reallySigned(statement) }),
      };
      if (!weather.strikes('order of a claimant is changed', place)) return real;
      return {
        ...real,
        order: { ...real.order, effect: { ...order.effect, args: { ...order.effect.args, cents: 50_000 } } },
      };
    };

    const end = async (born: Life, process: string, body: EndClaim) => {
      const { id, epoch, result } = body;
      const place = `${process} ends ${id} ${String(epoch)}`;
      const forged = { ...body, signature: `${body.signature.slice(0, -4)}AAAA` };
      if (weather.strikes('end of a claimant is forged', place))
        ask(born, `${place} forged`, REQUEST_TIMEOUT_MS, (desk) => desk.end(forged)).then(
          () => checker.expect('an end counts only under the signature of its start', false, id, () => place),
          () => undefined,
        );
      if (result.kind !== 'found') reports.set(`${id} ${String(epoch)}`, result.kind);
      const answer = await ask(
        born,
        place,
        REQUEST_TIMEOUT_MS,
        (desk) => desk.end(body),
        () => {
          if (weather.strikes('claimant dies before its end is answered', place)) crash();
        },
      );
      acknowledged.set(`${id} ${String(epoch)}`, result.kind);
      return answer;
    };

    const start = (): void => {
      lives += 1;
      const process = `${seat}-${String(lives)}`;
      const born = createLife(seat, timeline);
      life = born;
      trace.note(seat, '', () => 'starts');
      let claims = 0;
      const claimName = (): string => {
        claims += 1;
        return `${process}-claim-${String(claims)}`;
      };
      const trusted = (): Promise<readonly KeyObject[]> => Promise.resolve([publicKey]);
      born.enter(() =>
        runClaimant({
          say: {
            claim: async (claim) => {
              const holdsNothing = claim.max === CONCURRENCY;
              if (holdsNothing && timeline.now() - newsAt > IDLE_MS) {
                born.end();
                sleeping.add(start);
                return new Promise(() => undefined);
              }
              const patience = (claim.waitMs ?? 0) + REQUEST_TIMEOUT_MS;
              const { items } = await ask(born, claim.claim, patience, (desk) => desk.claim(claim, WHO));
              return { items: items.map(received) };
            },
            beat: (beat) => ask(born, `${process} beats`, REQUEST_TIMEOUT_MS, (desk) => desk.beat(beat)),
            end: (body) => end(born, process, body),
          },
          clock: born.clock,
          now: databases.approvals.now,
          key: keyOf(process),
          claimName,
          trust: { keys: trusted, refresh: trusted },
          effects: remoteEffects((uses) => ({ run: run(born, uses), probe: probe(born) })),
          name,
          concurrency: CONCURRENCY,
          waitMs: WAITS_MS,
          leaseMs: LEASE_MS,
          seat,
          drainMs: 0,
          log: () => undefined,
        }),
      );
    };
    start();
    return { crash, freeze: (ms) => life?.freeze(ms) };
  };

  return {
    all: Array.from({ length: CLAIMANTS }, (_, index) =>
      startOne(index < 2 ? 'refunds' : 'others', `machine-${String(index + 1)}-of-refunds`),
    ),
    checkEnds: () => {
      for (const [start, kind] of acknowledged) {
        const [id = '', epoch = ''] = start.split(' ');
        if (kind !== 'applied') continue;
        checker.expect(
          'an acknowledged end of a claimant is in the ledger',
          world.books.executor.stateOf(id).status === 'applied',
          id,
          () => `epoch ${epoch} ended with ${kind}: ${JSON.stringify(world.books.executor.stateOf(id))}`,
        );
      }
    },
  };
};
