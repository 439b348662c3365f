import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { checkGrant } from '@holdpoint/contracts/effect/check-grant';
import {
  type Beat,
  type Claim,
  type ClaimAnswer,
  type ClaimedOrder,
  type EndClaim,
  type RemoteFinding,
  type RemoteOutcome,
  signed,
} from '@holdpoint/contracts/effect/remote';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { Claimants as Desk } from '@holdpoint/executor/adapters/claimants/claimants';
import { LEASE_MS } from '@holdpoint/executor/effect/timing';
import { createLife, type Life } from '../simulation/process-life.ts';
import type { World } from '../simulation/world.ts';
import type { Executors } from './executors.ts';
import type { Work } from './function.ts';
import { BEGINS, KEYS, ordersFor, publishedKeys, usesOf } from './orders.ts';
import type { Python } from './python-claimants.ts';
import { beginSdkClaimant } from './sdk-claimant.ts';
import type { Story } from './story.ts';

export type Claimants = {
  readonly all: readonly { readonly crash: () => void; readonly freeze: (ms: number) => void }[];
  readonly cut: (what: 'requests' | 'answers', ms: number) => void;
  readonly double: (ms: number) => void;
  /** Forged beats and ends that were taken. */
  readonly forged: () => number;
};

const CLAIMANTS = 2;
const WHO = { principal: 'deployer' };
const WAITS_MS = 3_000;
const ANSWER_TIMEOUT_MS = 2_000;
const RESTARTS_AFTER_MS = [300, 3_000] as const;
/** Claimants sleep without commits of the ledger, so that the timeline ends. */
const AWAKE_MS = 60_000;
const LATE_MS = 20_000;
const ENDS_MAX = 40;

type Key = { readonly privateKey: KeyObject; readonly x: string; readonly seed: string };
const keys = new Map<string, Key>();
/** The same key in every telling of a story. */
const keyOf = (name: string): Key => {
  const known = keys.get(name);
  if (known !== undefined) return known;
  const seed = createHash('sha256').update(name).digest();
  const prefix = Buffer.from('302e020100300506032b657004220420', 'hex');
  const privateKey = createPrivateKey({ key: Buffer.concat([prefix, seed]), format: 'der', type: 'pkcs8' });
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  const key = { privateKey, x, seed: seed.toString('hex') };
  keys.set(name, key);
  return key;
};

const unanswered = (): HoldpointError => new HoldpointError('RUNTIME_UNAVAILABLE', 'no answer');

/** Programs of a user on two machines, which claim over a network. */
export const startClaimants = (
  world: World,
  { desks, nodes }: Executors,
  { carrier, effectClass }: Pick<Story, 'carrier' | 'effectClass'>,
  work: Work,
  python: Python | undefined,
): Claimants => {
  const { timeline, choices, weather, watchers } = world;
  const label = usesOf('claimant', effectClass);
  const until = { requests: 0, answers: 0, double: 0 };
  let forged = 0;
  let newsAt = 0;
  const sleeping = new Set<() => void>();
  const wake = (): void => {
    newsAt = timeline.now();
    for (const step of sleeping) step();
    sleeping.clear();
  };
  watchers.committed.push(wake);

  /** A request to some executor: request, work and answer each take time, or get lost. */
  const ask = <Answer>(
    life: Life,
    place: string,
    timeoutMs: number,
    what: (desk: Desk) => Promise<Answer>,
  ): Promise<Answer> =>
    new Promise((resolve, reject) => {
      life.clock.after(timeoutMs, () => reject(unanswered()));
      const answer = (tell: () => void): void =>
        void timeline.in(weather.latency(`${place} <`), () => {
          if (timeline.now() >= until.answers) life.enter(tell);
        });
      const arrive = (): void => {
        const up = nodes.flatMap((node, index) => {
          const desk = node.isUp() ? desks()[index] : undefined;
          return desk === undefined ? [] : [desk];
        });
        if (up.length === 0 || timeline.now() < until.requests) return;
        timeline.stir();
        what(choices.pick(place, up)).then(
          (told) => answer(() => resolve(told)),
          (error: unknown) => answer(() => reject(error instanceof Error ? error : new Error(String(error)))),
        );
      };
      timeline.in(weather.latency(`${place} >`), arrive);
      if (timeline.now() < until.double) timeline.in(choices.between(`${place} again`, 5, LATE_MS), arrive);
    });

  const startOne = (name: string): Claimants['all'][number] => {
    let lives = 0;
    let life: Life;

    const begin = (born: Life, process: string): void => {
      const { privateKey, x, seed } = keyOf(process);
      const seat = `seat-of-${name.replace('.', '-')}`;
      /** Starts of this process: it begins none twice. */
      const began = new Set<number>();
      const wait = (ms: number): Promise<void> =>
        new Promise((resolve) => void born.clock.after(ms, resolve));
      let claims = 0;

      const end = async (
        { order: { id }, epoch }: ClaimedOrder,
        result: EndClaim['result'],
      ): Promise<void> => {
        const body = signed({ x, id, epoch, result }, privateKey);
        // Another program with the same token sends a forged end.
        const other = keyOf('somebody else');
        const stolen = signed({ x: other.x, id, epoch, result }, other.privateKey);
        const unsigned = { ...body, signature: stolen.signature };
        for (const wrong of [stolen, unsigned])
          ask(born, `${process} forges`, ANSWER_TIMEOUT_MS, (desk) => desk.end(wrong)).then(
            () => (forged += 1),
            () => undefined,
          );
        for (let times = 0; times < ENDS_MAX; times += 1)
          try {
            await ask(born, `${process} ends ${String(epoch)}`, ANSWER_TIMEOUT_MS, (desk) => desk.end(body));
            return;
          } catch (error) {
            if (!(error instanceof HoldpointError) || error.code !== 'RUNTIME_UNAVAILABLE') return;
            await wait(500);
          }
      };

      const carryOut = async (claimed: ClaimedOrder, asked: number): Promise<void> => {
        const { kind, order, epoch, leaseMs } = claimed;
        const problem = checkGrant(claimed, KEYS, BEGINS + born.clock.now());
        if (kind === 'run' && began.has(epoch)) return;
        if (kind === 'run') began.add(epoch);
        let heldUntil = asked + leaseMs;
        const beating = born.clock.every(leaseMs / 3, () => {
          const at = born.clock.now();
          const beat = signed({ x, items: [{ id: order.id, epoch }] }, privateKey);
          ask(born, `${process} beats ${String(epoch)}`, ANSWER_TIMEOUT_MS, (desk) => desk.beat(beat)).then(
            ({ items: [told] }) => {
              if (told?.state === 'held') heldUntil = Math.max(heldUntil, at + leaseMs);
            },
            () => undefined,
          );
        });
        const refused = { code: 'REMOTE_GRANT_REFUSED', message: problem?.message ?? '' };
        const assertInForce = (): void => {
          if (born.clock.now() >= heldUntil) throw new Error('the lease may be over');
        };
        const result = async (): Promise<RemoteOutcome | RemoteFinding> => {
          if (kind === 'probe') {
            if (problem !== undefined) return { kind: 'found', found: 'unknown', reason: problem.message };
            return { kind: 'found', found: await work.probe(born), reason: 'as the target says' };
          }
          if (problem !== undefined) return { kind: 'failed_clean', error: refused };
          try {
            return await work.run(born, { order, epoch, assertInForce });
          } catch {
            return { kind: 'failed_clean', error: { code: 'REMOTE_LEASE', message: 'not begun in time' } };
          }
        };
        const made = await result();
        // The report belongs to the start: until it is taken, the lease is in force.
        await end(claimed, made);
        beating();
      };

      const claimOnce = async (): Promise<void> => {
        claims += 1;
        const claim = `${process.replace('.', '-')}-claim-${String(claims)}`.padEnd(16, '-');
        const request: Claim = {
          claim,
          claimant: name,
          x,
          uses: [label],
          ...(effectClass === 'probeable' && { probes: [label] }),
          waitMs: WAITS_MS,
          leaseMs: LEASE_MS,
          seat,
        };
        for (let times = 0; times < 3; times += 1)
          try {
            const asked = born.clock.now();
            const patience = WAITS_MS + ANSWER_TIMEOUT_MS;
            const { items }: ClaimAnswer = await ask(born, claim, patience, (desk) =>
              desk.claim(request, WHO),
            );
            for (const item of items) await carryOut(tampered(item), asked);
            return;
          } catch (error) {
            if (!(error instanceof HoldpointError)) throw error;
            await wait(300);
          }
      };

      /** The bus may change an answer. */
      const tampered = (item: ClaimedOrder): ClaimedOrder => {
        if (!choices.happens(`${process} is deceived`, 0.05)) return item;
        const [other] = ordersFor('claimant', effectClass).forged;
        return other === undefined ? item : { ...item, order: other };
      };

      const awake = async (): Promise<void> => {
        if (timeline.now() - newsAt > AWAKE_MS)
          await new Promise<void>((resolve) => void sleeping.add(() => born.enter(resolve)));
      };

      const say = {
        claim: async (claim: Claim): Promise<ClaimAnswer> => {
          await awake();
          const patience = (claim.waitMs ?? 0) + ANSWER_TIMEOUT_MS;
          const answer = await ask(born, claim.claim, patience, (desk) => desk.claim(claim, WHO));
          return { items: answer.items.map(tampered) };
        },
        beat: (beat: Beat) => ask(born, `${process} beats`, ANSWER_TIMEOUT_MS, (desk) => desk.beat(beat)),
        end: (end: EndClaim) => ask(born, `${process} ends`, ANSWER_TIMEOUT_MS, (desk) => desk.end(end)),
        keys: (nonce: string) =>
          ask(born, `${process} asks for keys`, ANSWER_TIMEOUT_MS, () =>
            Promise.resolve(publishedKeys(nonce)),
          ),
      };
      if (carrier === 'claimant of the SDK') {
        const claimName = (): string => {
          claims += 1;
          return `${process.replace('.', '-')}-claim-${String(claims)}`.padEnd(16, '-');
        };
        beginSdkClaimant({ life: born, name, key: privateKey, seat, say, claimName }, effectClass, work);
        return;
      }
      if (carrier === 'claimant in Python') {
        if (python === undefined) throw new Error('there is no Python');
        python.begin({ life: born, name, key: seed, seat, say, awake, effectClass, work });
        return;
      }

      const live = async (): Promise<void> => {
        while (born.isAlive()) {
          await awake();
          await claimOnce();
          await wait(50);
        }
      };
      void live();
    };

    const start = (): void => {
      lives += 1;
      const born = createLife(name, timeline);
      life = born;
      born.enter(() => begin(born, `${name}-${String(lives)}`));
    };
    start();
    return {
      freeze: (ms) => life.freeze(ms),
      crash: () => {
        if (!life.isAlive()) return;
        life.end();
        timeline.in(choices.between(`restart ${name}`, ...RESTARTS_AFTER_MS), start);
      },
    };
  };

  const later = (ms: number): number => timeline.now() + ms;
  return {
    all: Array.from({ length: CLAIMANTS }, (_, index) => startOne(`claimant.${String(index + 1)}`)),
    cut: (what, ms) => void (until[what] = later(ms)),
    double: (ms) => void (until.double = later(ms)),
    forged: () => forged,
  };
};
