import type { RequestApproval } from '@holdpoint/contracts/approval/commands';
import type { FloorEntry, PolicyFloor } from '@holdpoint/contracts/approval/policy-floor';
import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { mayDecide, type Member } from '@holdpoint/contracts/workflow/audience';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { effectOf, requestFor, rollbackFor, stuckFor } from '../../testing/requests.ts';
import { applyFloor, askedOf, demandsOf, isReachable } from './apply-floor.ts';
import { compileFloor } from './compile-floor.ts';
import { DEFAULT_FLOOR } from './default-floor.ts';

const NAMES = ['operators', 'group:operators', 'sre', 'user:ada', 'user:linus', 'role:lead'];
const PEOPLE: readonly Member[] = [
  { name: 'ada', groups: ['operators', 'sre'] },
  { name: 'linus', groups: ['operators'], roles: ['lead'] },
  { name: 'mallory', groups: ['guests'] },
  { name: 'grace', groups: ['sre'] },
];

const optional = <Value>(values: fc.Arbitrary<Value>) => fc.option(values, { nil: undefined });
const audiences = fc.uniqueArray(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 });
const patterns = fc.subarray(['file:*', 'file:sample.txt', 'cap.*', 'cap.file.*', 'other'], { minLength: 1 });
const kinds = fc.subarray(['write_external', 'deploy', 'notify'] as const, { minLength: 1 });

const defined = <Value extends object>(value: Value): Value =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as Value;

const entries: fc.Arbitrary<FloorEntry> = fc
  .record({
    match: optional(
      fc
        .record({ kinds: optional(kinds), capabilities: optional(patterns), targets: optional(patterns) })
        .map(defined),
    ),
    except: optional(fc.array(fc.record({ kinds }), { minLength: 1, maxLength: 2 })),
    audience: optional(audiences),
    quorum: optional(fc.integer({ min: 1, max: 3 })),
    fourEyes: optional(fc.constant(true as const)),
    rules: optional(fc.constant(false as const)),
    timeoutMsMax: optional(fc.integer({ min: 1_000, max: 100_000 })),
  })
  .map((entry) => ({ name: 'x', ...defined(entry) }));
const floors: fc.Arbitrary<PolicyFloor> = fc
  .array(entries, { maxLength: 4 })
  .map((floor) => ({ floor: floor.map((entry, i) => ({ ...entry, name: `entry ${String(i)}` })) }));

const requests: fc.Arbitrary<RequestApproval> = fc
  .record({
    kind: fc.constantFrom('write_external' as const, 'deploy' as const),
    audience: fc.oneof(audiences, fc.constant([] as string[])),
    timeoutMs: fc.integer({ min: 1_000, max: 100_000 }),
    policy: optional(
      fc
        .record({
          quorum: optional(fc.integer({ min: 1, max: 3 })),
          fourEyes: optional(fc.boolean()),
          rules: optional(fc.boolean()),
          veto: optional(fc.boolean()),
        })
        .map(defined),
    ),
  })
  .map(({ kind, policy, ...more }) => {
    const effect = { ...effectOf('hello'), kind };
    return requestFor('', { effect, digest: effectDigest(effect), ...more, ...(policy && { policy }) });
  });

describe('the effective policy', () => {
  test('it is never weaker than the request', () => {
    fc.assert(
      fc.property(requests, floors, (request, floor) => {
        const made = applyFloor(request, compileFloor(floor));
        const [before, after] = [demandsOf(request), demandsOf(made)];
        expect(after.quorum).toBeGreaterThanOrEqual(before.quorum);
        expect(after.fourEyes || !before.fourEyes).toBe(true);
        expect(before.rules || !after.rules).toBe(true);
        expect(after.timeoutMs).toBeLessThanOrEqual(before.timeoutMs);
        for (const person of PEOPLE)
          expect(
            request.audience.length === 0 || !mayDecide(made, person) || mayDecide(request, person),
          ).toBe(true);
        expect({ ...made.policy, quorum: 0, fourEyes: 0, rules: 0 }).toEqual({
          ...request.policy,
          quorum: 0,
          fourEyes: 0,
          rules: 0,
        });
      }),
    );
  });

  test('it is never weaker than any entry that covers the request', () => {
    fc.assert(
      fc.property(requests, floors, (request, floor) => {
        const compiled = compileFloor(floor);
        const made = applyFloor(request, compiled);
        const { quorum, fourEyes, rules, timeoutMs } = demandsOf(made);
        for (const entry of compiled.entriesFor(request)) {
          expect(quorum).toBeGreaterThanOrEqual(entry.quorum ?? 1);
          expect(fourEyes || entry.fourEyes !== true).toBe(true);
          expect(rules && entry.rules === false).toBe(false);
          expect(timeoutMs).toBeLessThanOrEqual(entry.timeoutMsMax ?? Infinity);
          for (const person of PEOPLE)
            expect(
              !entry.audience || !mayDecide(made, person) || mayDecide({ audience: entry.audience }, person),
            ).toBe(true);
        }
      }),
    );
  });

  test('everybody whom both allow may decide', () => {
    fc.assert(
      fc.property(requests, floors, (request, floor) => {
        const compiled = compileFloor(floor);
        const made = applyFloor(request, compiled);
        const lists = [
          request.audience,
          ...compiled.entriesFor(request).map(({ audience }) => audience ?? []),
        ];
        const named = lists.filter((audience) => audience.length > 0);
        const allowed = PEOPLE.filter((person) => named.every((audience) => mayDecide({ audience }, person)));
        expect(named.length === 0 || allowed.every((person) => mayDecide(made, person))).toBe(true);
      }),
    );
  });

  test('applying a floor again changes nothing', () => {
    fc.assert(
      fc.property(requests, floors, (request, floor) => {
        const compiled = compileFloor(floor);
        const { floor: first, ...once } = applyFloor(request, compiled);
        const { floor: second, ...twice } = applyFloor({ ...once, floor: first }, compiled);
        expect(twice).toEqual(once);
        expect(second.within).toEqual(first.within);
      }),
    );
  });

  test('the order of entries changes nothing', () => {
    fc.assert(
      fc.property(requests, floors, (request, { floor }) => {
        const one = applyFloor(request, compileFloor({ floor }));
        const other = applyFloor(request, compileFloor({ floor: floor.toReversed() }));
        expect({ ...other, floor: { ...other.floor, digest: '', entries: [] } }).toEqual({
          ...one,
          floor: { ...one.floor, digest: '', entries: [] },
        });
      }),
    );
  });

  test('the request as it was made is kept', () => {
    fc.assert(
      fc.property(requests, floors, (request, floor) => {
        expect(askedOf(applyFloor(request, compileFloor(floor)))).toEqual(request);
      }),
    );
  });
});

describe('entries', () => {
  const shell = {
    ...effectOf(''),
    uses: 'cap.env.shell.command.run',
    args: { with: {} },
    effectClass: 'opaque',
    target: 'test-system',
  } as const;
  const live: FloorEntry = { name: 'live', match: { targets: ['live'] }, quorum: 2 };
  const names = (floor: PolicyFloor, request: RequestApproval) =>
    compileFloor(floor)
      .entriesFor(request)
      .map(({ name }) => name);

  test('a target that only the requester names matches every demand', () => {
    expect(names({ floor: [live] }, requestFor('', { effect: shell }))).toEqual(['live']);
  });

  test('a target that only the requester names matches no exception', () => {
    const but: FloorEntry = { name: 'all', except: [{ targets: ['test-*'] }], quorum: 2 };
    expect(names({ floor: [but] }, requestFor('', { effect: shell }))).toEqual(['all']);
  });

  test('a workflow pattern covers only requests of that workflow', () => {
    const entry: FloorEntry = { name: 'shop', match: { workflows: ['shop.*'] }, quorum: 2 };
    expect(names({ floor: [entry] }, requestFor('', { workflow: 'shop.release' }))).toEqual(['shop']);
    expect(names({ floor: [entry] }, requestFor())).toEqual([]);
  });

  test('a question about a job is covered by its own kind', () => {
    const entry: FloorEntry = { name: 'files', match: { kinds: ['write_external'] }, quorum: 2 };
    expect(names({ floor: [entry] }, stuckFor())).toEqual([]);
  });

  test('the built-in floor leaves a rollback in an isolated worktree alone, and no other', () => {
    expect(DEFAULT_FLOOR.entriesFor(rollbackFor())).toEqual([]);
    const shared = { with: { isolated: false, worktree: '.holdpoint/worktrees/x' } };
    expect(DEFAULT_FLOOR.entriesFor(rollbackFor({ args: shared }))).toHaveLength(1);
    const outside = { with: { isolated: true, worktree: '.holdpoint/worktrees/../../x' } };
    expect(DEFAULT_FLOOR.entriesFor(rollbackFor({ args: outside }))).toHaveLength(1);
  });
});

describe('whether anybody can decide', () => {
  const under = (audience: string[], within: string[]) => ({
    ...requestFor('', { audience }),
    floor: { digest: DEFAULT_FLOOR.digest, within: [within] },
  });
  test.each<[string[], string[], boolean, boolean]>([
    [['operators'], ['operators'], true, true],
    [['group:operators'], ['operators'], true, true],
    [['user:ada'], ['operators'], true, true],
    [['user:mallory'], ['operators'], false, true],
    [['guests'], ['sre'], true, true],
    [['user:barbara'], ['operators'], true, true],
    [['user:mallory', 'guests'], ['operators'], true, true],
    [['user:ada'], ['user:linus'], false, false],
  ])('%j within %j: %s among known people, %s where others may exist', (audience, within, known, open) => {
    expect(isReachable(under(audience, within), PEOPLE)).toBe(known);
    expect(isReachable(under(audience, within), undefined)).toBe(open);
  });
});
