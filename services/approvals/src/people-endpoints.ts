import type { PersonView } from '@holdpoint/contracts/approval/people';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { PEOPLE_ID } from '@holdpoint/contracts/values/ids';
import type { Caller } from '@holdpoint/runtime/bus/api';
import { awaitCommit } from '@holdpoint/runtime/engine/await-commit';
import type { ApprovalsEndpoints } from './api.ts';
import type { Principal } from './approval/state.ts';
import { callerFor } from './callers.ts';
import { readActiveRules } from './queries/rules.ts';
import { tokensOf } from './queries/tokens.ts';
import type { SurfaceDeps } from './surfaces/surface-deps.ts';
import { type PeopleMessage, personView } from './people/people.ts';

type Change = 'person_add' | 'person_change' | 'person_remove';

const administratorFor = async (deps: SurfaceDeps, caller: Caller, endpoint: Change): Promise<Principal> => {
  const by = await callerFor(deps, caller, endpoint);
  if (deps.identity.isAdministrator(by) && by.agent === undefined) return by;
  throw new HoldpointError('APPROVALS_NOT_ENTITLED', 'only an administrator may change people');
};

const listed = ({ identity }: SurfaceDeps): readonly PersonView[] => {
  const { administrators } = identity.around('');
  const directory = identity.directory();
  const fromFile = directory.people
    .filter(({ name }) => directory.isInFile(name))
    .map(({ name, groups, roles }): PersonView => ({
      name,
      groups: [...groups],
      ...(roles && { roles: [...roles] }),
      status: 'active',
      source: 'file',
      administrator: identity.isAdministrator({ name, groups, roles }),
    }));
  const stored = identity
    .storedPeople()
    .filter(({ name }) => !directory.isInFile(name))
    .map((person) => personView(person, administrators));
  return [...fromFile, ...stored].toSorted((one, other) => (one.name < other.name ? -1 : 1));
};

/** Revokes the tokens and the rules of a removed person, who cannot make new ones. */
const revokeAllOf = async ({ pool, engine }: SurfaceDeps, name: string, by: Principal): Promise<void> => {
  const [tokens, rules] = await Promise.all([tokensOf(pool, name), readActiveRules(pool)]);
  await Promise.all([
    ...tokens.map((id) =>
      awaitCommit(engine, {
        kind: 'token',
        aggregate: id,
        message: { kind: 'revoke_token', id, by: by.name, administrator: true },
      }),
    ),
    ...rules
      .filter(({ author }) => author.name === name)
      .map(({ id }) =>
        awaitCommit(engine, {
          kind: 'rule',
          aggregate: id,
          message: { kind: 'revoke_rule', id, by, administrator: true, reason: `${name} was removed` },
        }),
      ),
  ]);
};

/** Adds, changes, removes and lists people. */
export const peopleEndpoints = (deps: SurfaceDeps): Pick<ApprovalsEndpoints, 'person_list' | Change> => {
  const { engine, identity } = deps;
  const commit = async (message: PeopleMessage): Promise<PersonView> => {
    const view = await awaitCommit(engine, { kind: 'people', aggregate: PEOPLE_ID, message });
    await identity.refreshPeople();
    return view as PersonView;
  };
  return {
    person_list: {
      query: async (_, caller) => {
        const by = await callerFor(deps, caller, 'person_list');
        await identity.refreshPeople();
        const mayListAll = identity.isAdministrator(by);
        return { items: listed(deps).filter(({ name }) => mayListAll || name === by.name) };
      },
    },
    person_add: {
      decides: true,
      query: async (person, caller) => {
        const { name: by } = await administratorFor(deps, caller, 'person_add');
        return commit({ kind: 'add_person', person, by, ...identity.around(person.name) });
      },
    },
    person_change: {
      decides: true,
      query: async (person, caller) => {
        const { name: by } = await administratorFor(deps, caller, 'person_change');
        return commit({ kind: 'change_person', person, by, ...identity.around(person.name) });
      },
    },
    person_remove: {
      decides: true,
      query: async ({ name }, caller) => {
        const by = await administratorFor(deps, caller, 'person_remove');
        const around = identity.around(name);
        const view = await commit({ kind: 'remove_person', name, by: by.name, ...around });
        // Repeating the removal repeats this part, if it was cut off.
        await revokeAllOf(deps, name, by);
        return view;
      },
    },
  };
};
