import type { HeldEffect, HeldState } from '@holdpoint/contracts/effect/hold';
import {
  type Beat,
  type BeatAnswer,
  type Claim,
  type ClaimAnswer,
  type EndAnswer,
  type EndClaim,
  isSignedByClaimant,
} from '@holdpoint/contracts/effect/remote';
import { isFinal } from '@holdpoint/contracts/task/held-effect';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { canonicalJson, type JsonObject } from '@holdpoint/contracts/values/json';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import type { Job, Row } from './gate-orders.ts';

export type Ledger = ReturnType<typeof createLedger>;

const REPEATED: ReadonlySet<string> = new Set(['keyed', 'fenced', 'idempotent']);

export const setState = (row: Row, state: HeldState, more: Partial<HeldEffect> = {}): void => {
  row.held = { ...row.held, ...more, state };
};

/** Claims, leases and ends in memory. `onPreview` hears of a preview that people may see now. */
export const createLedger = (clock: Clock, onPreview: (row: Row, preview: JsonObject) => void) => {
  const jobs = new Map<string, Job>();
  const changed = new Set<() => void>();
  const waiting = new Map<string, () => void>();
  let killing: { readonly at: 'before' | 'after'; readonly key: string | undefined } | undefined;

  const notify = (): void => {
    // A call that wakes takes itself out first.
    for (const wake of Array.from(changed)) wake();
  };

  /** Looks again after every change, up to a time limit. A repeat under a name ends the first call. */
  const waitFor = <Value>(
    look: () => Value | undefined,
    waitMs: number,
    name = '',
  ): Promise<Value | undefined> =>
    new Promise((resolve) => {
      waiting.get(name)?.();
      const found = look();
      if (found !== undefined || waitMs === 0) return resolve(found);
      let stop = (): void => undefined;
      const done = (value?: Value): void => {
        changed.delete(wake);
        if (waiting.get(name) === done) waiting.delete(name);
        stop();
        resolve(value);
      };
      const wake = (): void => {
        changed.delete(wake);
        const value = look();
        if (value === undefined) changed.add(wake);
        else done(value);
      };
      changed.add(wake);
      if (name !== '') waiting.set(name, done);
      stop = clock.after(waitMs, () => done());
    });

  const jobOf = (id: string): Job => {
    const job = jobs.get(id);
    if (job === undefined) throw new HoldpointError('EXECUTOR_UNKNOWN_EFFECT', `unknown effect ${id}`);
    return job;
  };

  /** The claimant is silent, or does not know: the class decides. `isOver`: this start can no longer act. */
  const lose = (job: Job, isOver: boolean): void => {
    const { row, part, holder } = job;
    const { effectClass, probe } = row.definition;
    const isRun = holder?.kind === 'run';
    job.stopLease();
    job.holder = undefined;
    if (isRun) job.isOver &&= isOver;
    if (part === 'preview') job.offer = row.isCancelled ? undefined : 'run';
    else if (REPEATED.has(effectClass) && !row.isCancelled) {
      job.offer = 'run';
      setState(row, 'approved');
    } else {
      const isProbed = effectClass === 'probeable' && probe === true && (isRun || !isOver);
      job.offer = isProbed ? 'probe' : undefined;
      setState(row, 'in_doubt');
    }
  };

  const renew = (job: Job): void => {
    job.stopLease();
    job.stopLease = clock.after(job.holder?.leaseMs ?? 0, () => {
      lose(job, false);
      notify();
    });
  };

  /** Whether the claimant dies at this point. */
  const dies = (at: 'before' | 'after', { row, part, holder }: Job): boolean => {
    const { key = row.wanted.key } = killing ?? {};
    const isHere = killing?.at === at && part === 'effect' && holder?.kind === 'run';
    if (!isHere || key !== row.wanted.key) return false;
    killing = undefined;
    return true;
  };

  const take = (job: Job, { x, claim, leaseMs = 30_000 }: Claim): void => {
    const { offer: kind = 'run', row, part } = job;
    if (kind === 'run') job.epoch += 1;
    job.offer = undefined;
    job.holder = { x, claim, leaseMs, kind };
    if (part === 'effect' && kind === 'run') setState(row, 'running');
  };

  const isFor = ({ offer, order: { effect } }: Job, { uses, probes = [] }: Claim): boolean =>
    offer !== undefined && (offer === 'run' ? uses : probes).includes(effect.uses);

  const give = (claim: Claim): ClaimAnswer['items'] | undefined => {
    let given = [...jobs.values()].filter(({ holder }) => holder?.claim === claim.claim);
    if (given.length === 0) {
      given = [...jobs.values()].filter((job) => isFor(job, claim)).slice(0, claim.max ?? 1);
      for (const job of given) take(job, claim);
    }
    if (given.length === 0) return undefined;
    for (const job of given)
      if (dies('before', job)) lose(job, true);
      else renew(job);
    const items = given.flatMap(({ order, epoch, holder, statement }) =>
      holder === undefined
        ? []
        : [{ kind: holder.kind, order, epoch, leaseMs: holder.leaseMs, ...(statement && { statement }) }],
    );
    notify();
    // After a death, the claimant is the next process and asks again.
    return items.length === 0 ? give(claim) : items;
  };

  const holds = ({ holder, epoch }: Job, x: string, of: number): boolean => holder?.x === x && epoch === of;

  const checkSignature = (body: Beat | EndClaim): void => {
    if (!isSignedByClaimant(body))
      throw new HoldpointError('EXECUTOR_CLAIM_SIGNATURE', 'the signature is of another key');
  };

  const record = (job: Job, { result }: EndClaim): void => {
    const { row, part } = job;
    const told = result.kind === 'found' ? result.found : result.kind;
    const outputs = 'outputs' in result ? (result.outputs ?? {}) : {};
    if (told === 'unknown') return lose(job, true);
    job.stopLease();
    job.holder = undefined;
    if (told === 'not_applied') {
      // Without proof that the earlier starts are over, a person has to tell.
      if (!job.isOver) return;
      job.offer = 'run';
      return setState(row, 'approved');
    }
    if (isFinal(row.held.state)) return;
    if (result.kind === 'failed_clean') setState(row, 'failed', { error: result.error });
    else if (part === 'effect') setState(row, 'applied', { outputs });
    else onPreview(row, outputs);
  };

  return {
    notify,
    waitFor,
    jobOf,
    add: (job: Job): void => void jobs.set(job.order.id, job),
    callOff: (row: Row): void => {
      for (const job of jobs.values()) if (job.row === row) job.offer = undefined;
    },
    kill: (at: 'before' | 'after', key?: string): void => {
      killing = { at, key };
    },
    claim: async (claim: Claim): Promise<ClaimAnswer> => ({
      items: (await waitFor(() => give(claim), claim.waitMs ?? 0, claim.claim)) ?? [],
    }),
    beat: (beat: Beat): BeatAnswer => {
      checkSignature(beat);
      return {
        items: beat.items.map(({ id, epoch }) => {
          const job = jobOf(id);
          const isHeld = holds(job, beat.x, epoch);
          if (isHeld) renew(job);
          const state = !isHeld ? 'lost' : job.row.isCancelled ? 'cancelled' : 'held';
          return { id, epoch, state, leaseMs: isHeld ? (job.holder?.leaseMs ?? 0) : 0 } as const;
        }),
      };
    },
    end: (ended: EndClaim): EndAnswer => {
      checkSignature(ended);
      const { epoch, x, result } = ended;
      const job = jobOf(ended.id);
      const { id } = job.order;
      const text = canonicalJson({ epoch, result });
      if (job.end === text) return { id, epoch, status: 'repeated' };
      if (!holds(job, x, epoch)) {
        const code = isFinal(job.row.held.state) ? 'EXECUTOR_CLAIM_ENDED' : 'EXECUTOR_CLAIM_LOST';
        throw new HoldpointError(code, 'the claim has ended');
      }
      if (dies('after', job)) {
        lose(job, true);
        notify();
        throw new HoldpointError('EXECUTOR_CLAIM_LOST', 'the test killed this claimant');
      }
      job.end = text;
      record(job, ended);
      notify();
      return { id, epoch, status: 'recorded' };
    },
  };
};
