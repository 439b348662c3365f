import type { AddPerson, ChangePerson, PeopleEvent, PersonView } from '@holdpoint/contracts/approval/people';
import { PEOPLE_MAX } from '@holdpoint/contracts/approval/people';
import { type ErrorCode, errorBody } from '@holdpoint/contracts/values/errors';
import { PEOPLE_ID } from '@holdpoint/contracts/values/ids';
import { asSent } from '@holdpoint/contracts/values/json';
import { isAmong } from '@holdpoint/contracts/workflow/audience';
import { type Decider, type Decision, decision, refused, unknownEvent } from '@holdpoint/runtime/decider';

/** A person of the store. A removed one stays here, so that their tokens and their name stay refused. */
export type StoredPerson = {
  readonly name: string;
  readonly displayName?: string | undefined;
  readonly groups: readonly string[];
  readonly addedBy: string;
  readonly addedAt: number;
  readonly removedBy?: string | undefined;
  /** The latest removal. Tokens up to this time stay refused after the person is added again. */
  readonly removedAt?: number | undefined;
};

export type People = { readonly status: 'people'; readonly people: readonly StoredPerson[] };

/** What the deployment says about people beside the store. */
export type Surroundings = {
  /** The principals file lists the name: it wins over the store. */
  readonly isInFile: boolean;
  /** Groups, people and roles that administrate. */
  readonly administrators: readonly string[];
  /** Somebody outside of the store administrates. */
  readonly hasOtherAdministrators: boolean;
};

type About<Kind, Payload> = Surroundings & { readonly kind: Kind; readonly by: string } & Payload;
export type PeopleMessage =
  | About<'add_person', { readonly person: AddPerson }>
  | About<'change_person', { readonly person: ChangePerson }>
  | About<'remove_person', { readonly name: string }>;

type PeopleDecision = Decision<PeopleEvent>;

const isActive = ({ removedBy }: StoredPerson): boolean => removedBy === undefined;

const evolved = (before: StoredPerson | undefined, event: PeopleEvent): StoredPerson => {
  const { name, by, at } = event;
  if (event.type === 'person_added') {
    const { displayName, groups } = event;
    return { name, displayName, groups, addedBy: by, addedAt: at, removedAt: before?.removedAt };
  }
  if (before === undefined) throw new Error(`person ${name} was never added`);
  switch (event.type) {
    case 'person_removed':
      return { ...before, removedBy: by, removedAt: at };
    case 'person_changed':
      return { ...before, displayName: event.displayName, groups: event.groups };
    default:
      return unknownEvent(event);
  }
};

export const evolvePeople = (state: People | undefined, event: PeopleEvent): People => {
  const all = state?.people ?? [];
  const before = all.find(({ name }) => name === event.name);
  const others = all.filter((person) => person !== before);
  return { status: 'people', people: [...others, evolved(before, event)] };
};

/** A person of the store, as the API shows them. */
export const personView = (person: StoredPerson, administrators: readonly string[]): PersonView => {
  const { name, displayName, groups, addedBy, addedAt, removedBy, removedAt } = person;
  return {
    name,
    ...(displayName !== undefined && { displayName }),
    groups: [...groups],
    status: isActive(person) ? 'active' : 'removed',
    source: 'store',
    administrator: isActive(person) && isAmong(administrators, person),
    addedBy,
    addedAt,
    ...(removedBy !== undefined && { removedBy, ...(removedAt !== undefined && { removedAt }) }),
  };
};

const no = (code: ErrorCode, text: string): PeopleDecision => refused(errorBody(code, text));

const after = (state: People | undefined, event: PeopleEvent, message: PeopleMessage): PeopleDecision => {
  const found = evolvePeople(state, event).people.find(({ name }) => name === event.name);
  return decision({
    events: [event],
    ...(found && { answer: { ok: asSent(personView(found, message.administrators)) } }),
  });
};

/** Whether an administrator is left when this person no longer is one. */
const isCovered = ({ people }: People, name: string, around: Surroundings): boolean =>
  around.hasOtherAdministrators ||
  people.some((each) => each.name !== name && isActive(each) && isAmong(around.administrators, each));

const LAST = 'the last administrator stays: add another one first';

const add = (
  state: People | undefined,
  message: Extract<PeopleMessage, { kind: 'add_person' }>,
  now: number,
): PeopleDecision => {
  const { person, by } = message;
  const known = state?.people.find(({ name }) => name === person.name);
  if (known !== undefined && isActive(known))
    return no('APPROVALS_PERSON_CONFLICT', `${person.name} exists already: change their groups instead`);
  if (known === undefined && (state?.people.length ?? 0) >= PEOPLE_MAX)
    return no('APPROVALS_PERSON_REFUSED', `at most ${String(PEOPLE_MAX)} people: use OIDC for more`);
  const groups = [...new Set(person.groups)];
  return after(state, { type: 'person_added', id: PEOPLE_ID, ...person, groups, by, at: now }, message);
};

const change = (
  state: People | undefined,
  message: Extract<PeopleMessage, { kind: 'change_person' }>,
  known: StoredPerson,
  now: number,
): PeopleDecision => {
  const { person, by } = message;
  const next: StoredPerson = {
    ...known,
    groups: [...new Set(person.groups ?? known.groups)],
    displayName: person.displayName ?? known.displayName,
  };
  const isSame = next.displayName === known.displayName && next.groups.join('\n') === known.groups.join('\n');
  if (isSame) return decision({ answer: { ok: asSent(personView(known, message.administrators)) } });
  const loses = isAmong(message.administrators, known) && !isAmong(message.administrators, next);
  if (state !== undefined && loses && !isCovered(state, known.name, message))
    return no('APPROVALS_PERSON_REFUSED', LAST);
  const { name, displayName, groups } = next;
  const event: PeopleEvent = {
    type: 'person_changed',
    id: PEOPLE_ID,
    name,
    ...(displayName !== undefined && { displayName }),
    groups: [...groups],
    by,
    at: now,
  };
  return after(state, event, message);
};

const remove = (
  state: People | undefined,
  message: Extract<PeopleMessage, { kind: 'remove_person' }>,
  known: StoredPerson,
  now: number,
): PeopleDecision => {
  const { name, by } = message;
  if (!isActive(known))
    return decision({ answer: { ok: asSent(personView(known, message.administrators)) } });
  if (name === by)
    return no('APPROVALS_PERSON_REFUSED', 'you cannot remove yourself: ask another administrator');
  const isLast = isAmong(message.administrators, known) && state && !isCovered(state, name, message);
  if (isLast === true) return no('APPROVALS_PERSON_REFUSED', LAST);
  return after(state, { type: 'person_removed', id: PEOPLE_ID, name, by, at: now }, message);
};

/** All people of the store in one aggregate: names are unique, and an administrator is left. */
export const peopleDecider: Decider<People | undefined, PeopleMessage, PeopleEvent> = {
  initial: undefined,
  evolve: evolvePeople,
  decide: (state, message, { now }) => {
    const name = message.kind === 'remove_person' ? message.name : message.person.name;
    if (message.isInFile)
      return no('APPROVALS_PERSON_CONFLICT', `${name} is in HOLDPOINT_PRINCIPALS_FILE: change the file`);
    if (message.kind === 'add_person') return add(state, message, now);
    const known = state?.people.find((each) => each.name === name);
    if (known === undefined || (message.kind === 'change_person' && !isActive(known)))
      return no('APPROVALS_UNKNOWN_PERSON', `unknown person: ${name}`);
    return message.kind === 'change_person'
      ? change(state, message, known, now)
      : remove(state, message, known, now);
  },
};
