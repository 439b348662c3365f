import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { PublishedKeys } from '@holdpoint/contracts/approval/signing-keys';
import type { Beat, Claim, EndClaim } from '@holdpoint/contracts/effect/remote';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { EffectClass } from '@holdpoint/contracts/workflow/workflow';
import { LEASE_MS } from '@holdpoint/executor/effect/timing';
import type { ClaimRequests } from '@holdpoint/sdk/remote/connection';
import type { Life } from '../simulation/process-life.ts';
import type { Work } from './function.ts';
import { BEGINS } from './orders.ts';
import { type Args, orderOf } from './sdk-claimant.ts';

type Parts = {
  readonly life: Life;
  readonly name: string;
  /** The private key, as its 32 bytes in hexadecimal. */
  readonly key: string;
  readonly seat: string;
  readonly say: ClaimRequests & { readonly keys: (nonce: string) => Promise<PublishedKeys> };
  /** Resolves at once, or at the next commit of the ledger when the story rests. */
  readonly awake: () => Promise<void>;
  readonly effectClass: EffectClass;
  readonly work: Work;
};

/** A process that claims in Python, with the package `holdpoint`. It outlives stories, and plays all processes of each. */
export type Python = {
  readonly begin: (parts: Parts) => void;
  /** Until Python has nothing more to do at this moment. */
  readonly settled: () => Promise<void>;
  /** Ends the processes of a story. */
  readonly endAll: () => Promise<void>;
  readonly stop: () => Promise<void>;
};

type Call = { readonly call: number; readonly what: string; readonly body: unknown };
type Reply = { readonly calls: readonly Call[]; readonly wakes: number | null };

export const startPython = (python: string): Python => {
  const program = join(import.meta.dirname, 'python', 'claimants.py');
  const child: ChildProcess = spawn(python, [program, String(BEGINS)], { stdio: ['pipe', 'pipe', 'pipe'] });
  const closed = once(child, 'close');
  let errors = '';
  child.stderr?.on('data', (text: Buffer) => (errors += String(text)));
  const replies: { readonly resolve: (reply: Reply) => void; readonly reject: (error: Error) => void }[] = [];
  if (child.stdout)
    createInterface({ input: child.stdout }).on('line', (line) =>
      replies.shift()?.resolve(JSON.parse(line) as Reply),
    );
  let failure: Error | undefined;
  const fail = (error: unknown): void => {
    failure ??= error instanceof Error ? error : new Error(String(error));
    for (const { reject } of replies.splice(0)) reject(failure);
  };
  child.stdin?.on('error', fail);
  void closed.then(() => fail(new Error(`Python has ended: ${errors}`)));

  const exchange = (message: object): Promise<Reply> =>
    new Promise((resolve, reject) => {
      replies.push({ resolve, reject });
      child.stdin?.write(`${JSON.stringify(message)}\n`);
    });

  let lives = 0;
  let busy: Promise<unknown> = Promise.resolve();
  let isBusy = false;
  const living = new Map<number, Life>();

  const begin = ({ life, name, key, seat, say, awake, effectClass, work }: Parts): void => {
    lives += 1;
    const number = lives;
    /** Calls without an answer. */
    const open = new Map<number, string>();
    let planned = 0;
    let callOff = (): void => undefined;
    living.set(number, life);

    const answerTo = async ({ what, body }: Call): Promise<unknown> => {
      switch (what) {
        case 'begin':
          return work.begin(life);
        case 'run': {
          const { epoch, args } = body as { readonly epoch: number; readonly args: Args };
          // The function has asked for its lease at this moment.
          const assertInForce = (): void => undefined;
          return work.act(life, { order: orderOf(effectClass, args), epoch, assertInForce });
        }
        case 'probe':
          return work.probe(life);
        case 'claims':
          return say.claim(body as Claim);
        case 'claims/beats':
          return say.beat(body as Beat);
        case 'claims/ends':
          return say.end(body as EndClaim);
        case 'keys':
          return say.keys((body as { readonly nonce: string }).nonce);
        default:
          throw new Error(`Python asks for ${what}`);
      }
    };
    const isRequest = (what: string): boolean => what.startsWith('claims') || what === 'keys';
    const answered = async (call: Call): Promise<unknown> => {
      try {
        const body = await answerTo(call);
        return isRequest(call.what) ? { status: 200, body } : body;
      } catch (error) {
        if (!(error instanceof HoldpointError)) throw error;
        if (error.code === 'RUNTIME_UNAVAILABLE') return null;
        return { status: 409, body: { code: error.code, detail: error.message } };
      }
    };

    const take = ({ calls, wakes }: Reply): void => {
      if (!life.isAlive()) return;
      for (const call of calls) {
        open.set(call.call, call.what);
        answered(call).then((answer) => {
          open.delete(call.call);
          tell({ what: 'answer', call: call.call, answer: answer ?? null });
        }, fail);
      }
      planned += 1;
      callOff();
      if (wakes !== null) void plan(planned, wakes);
    };
    /** Without work, the process rests with the story: its beats would be empty. */
    const plan = async (mine: number, wakes: number): Promise<void> => {
      if ([...open.values()].every((what) => what === 'claims')) await awake();
      if (mine !== planned || !life.isAlive()) return;
      callOff = life.clock.after(wakes - life.clock.now(), () => tell({ what: 'tick' }));
    };
    const tell = (message: object): void => {
      isBusy = true;
      busy = exchange({ life: number, now: life.clock.now(), ...message }).then(take, fail);
    };
    life.atEnd(() => {
      living.delete(number);
      tell({ what: 'end' });
    });
    tell({ what: 'begin', name, key, seat, class: effectClass, leaseMs: LEASE_MS });
  };

  const settled = async (): Promise<void> => {
    while (isBusy) {
      isBusy = false;
      await busy;
      // What follows from the answers, too.
      await new Promise<void>((resolve) => process.nextTick(resolve));
    }
    if (failure !== undefined) throw failure;
  };

  return {
    begin,
    settled,
    endAll: async () => {
      for (const life of living.values()) life.end();
      await settled();
    },
    stop: async () => {
      child.stdin?.end();
      await closed;
    },
  };
};
