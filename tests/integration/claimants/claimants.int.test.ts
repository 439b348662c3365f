import { join } from 'node:path';
import { SERVICES, type ServiceName } from '@holdpoint/contracts/bus/subjects';
import type { HeldState } from '@holdpoint/contracts/effect/hold';
import { root } from '@holdpoint/infra/local/folders';
import { choosePorts } from '@holdpoint/infra/local/ports';
import { isReadyAt } from '@holdpoint/infra/local/process/service-processes';
import { connectOverHttp, type RemoteConnection } from '@holdpoint/sdk/http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fetchLedger } from '../../counter/ledger.ts';
import { startWitness, type Witness } from '../../kit/effects/counted-target.ts';
import { environment, findPython } from '../../kit/python.ts';
import type { ServiceProcess } from '../../kit/stack/as-process.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { until, untilTrue } from '../../kit/until.ts';
import { type Carriage, type ClaimantProcess, createFleet, type Fleet, type Language } from './fleet.ts';

// Real claimants over HTTP and NATS die, freeze, are cut off and survive restarts. An independent target counts.

const found = await findPython();
if (found.python === undefined) console.warn(`claimants in Python are not tested: ${found.reason}`);
const LANGUAGES: readonly Language[] = found.python === undefined ? ['TypeScript'] : ['TypeScript', 'Python'];
const CARRIAGES: readonly Carriage[] = ['HTTP', 'NATS'];

const CLASSES = ['keyed', 'fenced', 'probeable', 'opaque'] as const;
type EffectClass = (typeof CLASSES)[number];
type Halt = 'no' | 'before' | 'in' | 'after';

let system: System;
let witness: Witness;
let http: RemoteConnection;
let url: string;
const services = new Map<ServiceName, ServiceProcess>();
const fleets: Fleet[] = [];
/** When each key was approved. */
const approvedAt = new Map<string, number>();
const first = new Map<Fleet, ClaimantProcess>();

beforeAll(async () => {
  system = await createSystem({ shortResends: true });
  witness = await startWitness();
  const { approvals: httpPort } = await choosePorts();
  const env = { HOLDPOINT_HTTP_PORT: String(httpPort) };
  for (const service of SERVICES)
    services.set(service, await system.spawn(service, service === 'approvals' ? { env } : {}));
  url = `http://127.0.0.1:${String(httpPort)}`;
  const packages = [`${join(root, 'packages', 'python')}[nats]`];
  const [python] = await Promise.all([
    found.python && environment(found.python, join(system.folder, 'python'), packages),
    ...[...services.values()].map(({ started }) => started()),
  ]);
  await untilTrue('the HTTP API is ready', () => isReadyAt(url));
  http = connectOverHttp({ url, token: system.client.token });
  for (const language of LANGUAGES)
    for (const carriage of CARRIAGES)
      fleets.push(
        await createFleet(language, carriage, { system, httpPort, target: witness.origin, python }),
      );
  await inEachFleet(async (fleet) => void first.set(fleet, await fleet.start(1)));
}, 480_000);
afterAll(async () => {
  await Promise.all(fleets.map(({ stop }) => stop()));
  await witness.stop();
  await system.stop();
});

const inEachFleet = (story: (fleet: Fleet) => Promise<void>): Promise<unknown> =>
  Promise.all(fleets.map((fleet) => story(fleet)));

type Held = {
  readonly effectClass: EffectClass;
  readonly halt: Halt;
  readonly key: string;
  readonly id: string;
};

let counted = 0;
const hold = async ({ name }: Fleet, effectClass: EffectClass, halt: Halt): Promise<Held> => {
  counted += 1;
  const key = `${name} ${effectClass} ${halt} ${String(counted)}`;
  const { id } = await http.hold({ capability: `${effectClass}_${name}`, args: { halt, key }, key });
  return { effectClass, halt, key, id };
};

const decide = async ({ id, key }: Held, decision: 'approve' | 'reject'): Promise<void> => {
  const approval = await until('the request is there', async () => (await http.held(id)).approval);
  const { digest } = await until('the request can be read', () =>
    system.client.ask('approvals', 'get', { id: approval }).catch(() => undefined),
  );
  if (decision === 'approve') approvedAt.set(key, Date.now());
  await system.client.ask('approvals', 'decide', { id: approval, decision, digest }, system.client.approver);
};

/** Approved effects of every class that halt at each of these points. */
const approved = (fleet: Fleet, halts: readonly Halt[]): Promise<readonly Held[]> =>
  Promise.all(
    CLASSES.flatMap((effectClass) =>
      halts.map(async (halt) => {
        const held = await hold(fleet, effectClass, halt);
        await decide(held, 'approve');
        return held;
      }),
    ),
  );

const keysOf = (effects: readonly Held[]): readonly string[] => effects.map(({ key }) => key);
const stateOf = async ({ id }: Held): Promise<HeldState> => (await http.held(id)).state;

const claimantOf = (fleet: Fleet): ClaimantProcess => {
  const claimant = first.get(fleet);
  if (claimant === undefined) throw new Error(`${fleet.name} has no claimant`);
  return claimant;
};

/** The states that the API may show in the end, each with the applications that the target counted. */
type Ends = Readonly<Record<EffectClass, readonly string[]>>;
const APPLIED = ['applied 1'];
const ALL_APPLIED: Ends = { keyed: APPLIED, fenced: APPLIED, probeable: APPLIED, opaque: APPLIED };
/** Nothing happened. A probe by another process proves this only when the first process is known to be gone. */
const UNDONE: Ends = { ...ALL_APPLIED, probeable: ['applied 1', 'in_doubt 0'], opaque: ['in_doubt 0'] };
/** It happened, and no claimant could report it. */
const UNREPORTED: Ends = { ...ALL_APPLIED, opaque: ['in_doubt 1'] };

/** How each effect has ended. */
const expected = new Map<Held, readonly string[]>();

const seenOf = async (held: Held): Promise<string> =>
  `${await stateOf(held)} ${String(await witness.applications(held.key))}`;

const untilEnds = (effects: readonly Held[], ends: Ends): Promise<unknown> =>
  Promise.all(
    effects.map((held) => {
      const wanted = ends[held.effectClass];
      expected.set(held, wanted);
      return untilTrue(`${held.key} ends as its class promises`, async () => {
        const seen = await seenOf(held);
        if (wanted.includes(seen)) return true;
        throw new Error(`it is ${seen}`);
      });
    }),
  );

const of = (effects: readonly Held[], ...halts: readonly Halt[]): readonly Held[] =>
  effects.filter(({ halt }) => halts.includes(halt));

/** Effects whose starts halt in the first claimant of the fleet. It has no free place then, so that it claims nothing. */
const halting = async (fleet: Fleet, halts: readonly [Halt, Halt, Halt]): Promise<readonly Held[]> => {
  claimantOf(fleet).tell('halt');
  const effects = await approved(fleet, halts);
  await claimantOf(fleet).halted(keysOf(effects));
  return effects;
};

/** Each effect has left its first start: another one replaced it, or its outcome is unknown. */
const untilOver = (effects: readonly Held[]): Promise<unknown> =>
  Promise.all(
    effects.map((held) =>
      untilTrue(`the first start of ${held.key} is over`, async () =>
        ['in_doubt', 'applied'].includes(await stateOf(held)),
      ),
    ),
  );

test('a claimant is killed before its work, in it, and between its effect and its answer', () =>
  inEachFleet(async (fleet) => {
    const effects = await halting(fleet, ['before', 'in', 'after']);
    await claimantOf(fleet).kill();
    first.set(fleet, await fleet.start(1));
    await untilEnds(of(effects, 'before', 'in'), UNDONE);
    await untilEnds(of(effects, 'after'), UNREPORTED);
  }));

test('two claimants share the effects of their capabilities', () =>
  inEachFleet(async (fleet) => {
    const second = await fleet.start(2);
    const effects = await approved(fleet, ['no', 'no', 'no']);
    await untilEnds(effects, ALL_APPLIED);
    await second.leave();
  }));

test('a claimant is frozen beyond its lease, and wakes up while another one works', () =>
  inEachFleet(async (fleet) => {
    const effects = await halting(fleet, ['before', 'in', 'after']);
    claimantOf(fleet).signal('SIGSTOP');
    const second = await fleet.start(2);
    await untilOver(effects);
    await untilEnds(of(effects, 'after'), UNREPORTED);
    claimantOf(fleet).tell('go');
    claimantOf(fleet).signal('SIGCONT');
    await untilEnds(of(effects, 'before', 'in'), UNDONE);
    // A late success ends the doubt.
    await untilEnds(of(effects, 'after'), ALL_APPLIED);
    await second.leave();
  }));

test('the requests of a claimant are lost beyond its lease', () =>
  inEachFleet(async (fleet) => {
    const effects = await halting(fleet, ['before', 'in', 'after']);
    fleet.proxy.blackhole(['to_server']);
    const second = await fleet.start(2);
    await untilOver(effects);
    claimantOf(fleet).tell('go');
    await untilEnds(of(effects, 'after'), UNREPORTED);
    fleet.proxy.heal();
    await untilEnds(of(effects, 'before', 'in'), UNDONE);
    await untilEnds(of(effects, 'after'), ALL_APPLIED);
    await second.leave();
  }));

test('the answers to a claimant are lost', () =>
  inEachFleet(async (fleet) => {
    const effects = await halting(fleet, ['after', 'after', 'after']);
    fleet.proxy.blackhole(['to_client']);
    claimantOf(fleet).tell('go');
    await untilEnds(effects, ALL_APPLIED);
    fleet.proxy.heal();
    // It goes on with the next ones.
    await untilEnds(await approved(fleet, ['no']), ALL_APPLIED);
  }));

test.each([
  ['the executor', ['executor']],
  ['every service', SERVICES],
] as const)('%s is killed while claimants work', async (_what, names) => {
  const effects = (
    await Promise.all(fleets.map((fleet) => halting(fleet, ['before', 'in', 'after'])))
  ).flat();
  const victims = names.map((name) => services.get(name)).filter((each) => each !== undefined);
  for (const victim of victims) victim.signal('SIGKILL');
  await Promise.all(victims.map(({ started }) => started()));
  await untilTrue('the HTTP API is ready', () => isReadyAt(url));
  for (const fleet of fleets) claimantOf(fleet).tell('go');
  await untilEnds(of(effects, 'after'), ALL_APPLIED);
  // A start whose lease ended meanwhile may not begin.
  await untilEnds(of(effects, 'before', 'in'), { ...UNDONE, opaque: ['applied 1', 'in_doubt 0'] });
});

test('nothing was applied twice, and nothing without an approval', async () => {
  const others = await Promise.all(
    fleets.map(async (fleet) => {
      const [waits, rejected] = [await hold(fleet, 'opaque', 'no'), await hold(fleet, 'keyed', 'no')];
      await decide(rejected, 'reject');
      await untilTrue('it is rejected', async () => (await stateOf(rejected)) === 'rejected');
      expect(await stateOf(waits)).toMatch(/requested|waiting/);
      return [waits, rejected];
    }),
  );
  const records = await fetchLedger(witness.origin);
  const applications = records.filter((record) => record.type === 'applied');
  const seen = new Map<string, number>();
  let ungated = 0;
  for (const { key, at } of applications) {
    seen.set(key ?? '', (seen.get(key ?? '') ?? 0) + 1);
    if (!(Date.parse(at) >= (approvedAt.get(key ?? '') ?? Infinity))) ungated += 1;
  }
  const doubled = [...seen.values()].filter((times) => times > 1).length;
  // A repeat may be under way.
  for (const [held, wanted] of expected)
    await untilTrue(`${held.key} has ended`, async () => wanted.includes(await seenOf(held)));
  const seenNow = await Promise.all(
    [...expected].map(async ([held, wanted]) => ({ held, wanted, now: await seenOf(held) })),
  );
  const inDoubt = seenNow.filter(({ now }) => now.startsWith('in_doubt')).length;
  console.log(
    `claimants: ${String(approvedAt.size)} approved effects, ${String(applications.length)} applied, ` +
      `${String(doubled)} doubled, ${String(ungated)} ungated, ${String(inDoubt)} in doubt`,
  );
  expect({ doubled, ungated }).toEqual({ doubled: 0, ungated: 0 });
  // Nothing has changed since.
  expect(seenNow.filter(({ wanted, now }) => !wanted.includes(now))).toEqual([]);
  expect(others.flat().filter(({ key }) => seen.has(key))).toEqual([]);
  expect(applications.length).toBeGreaterThan(fleets.length * 30);
  expect(inDoubt).toBeGreaterThan(0);
});
