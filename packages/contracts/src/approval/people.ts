import { z } from 'zod';
import { PEOPLE_ID } from '../values/ids.ts';
import { GroupName, PersonName, PlainText } from '../values/person.ts';

/** People that the store keeps, removed ones included: their names stay refused. */
export const PEOPLE_MAX = 1_000;

/** Epoch milliseconds, by the database's clock. */
const Time = z.int();
/** A comma separates groups in lists. */
const Groups = z.array(GroupName.refine((name) => !name.includes(','), 'no comma')).max(50);
const DisplayName = PlainText(100);

export const AddPerson = z.object({
  name: PersonName,
  displayName: DisplayName.optional(),
  groups: Groups.default([]),
});
export type AddPerson = z.infer<typeof AddPerson>;

/** Fields that are left out stay as they are. */
export const ChangePerson = z.object({
  name: PersonName,
  displayName: DisplayName.optional(),
  groups: Groups.optional(),
});
export type ChangePerson = z.infer<typeof ChangePerson>;

export const RemovePerson = z.object({ name: PersonName });
export type RemovePerson = z.infer<typeof RemovePerson>;

const shown = { name: z.string(), displayName: z.string().optional(), groups: z.array(z.string()) } as const;
const made = { id: z.literal(PEOPLE_ID), by: z.string(), at: Time } as const;

export const PersonAdded = z.object({ type: z.literal('person_added'), ...made, ...shown });
export const PersonChanged = z.object({ type: z.literal('person_changed'), ...made, ...shown });
export const PersonRemoved = z.object({ type: z.literal('person_removed'), ...made, name: z.string() });
export const PeopleEvent = z.discriminatedUnion('type', [PersonAdded, PersonChanged, PersonRemoved]);
export type PeopleEvent = z.infer<typeof PeopleEvent>;

/** A person as the API shows them. */
export const PersonView = z.object({
  ...shown,
  roles: z.array(z.string()).optional(),
  status: z.enum(['active', 'removed']),
  /** `file`: the principals file lists the person, and only its owner changes them. */
  source: z.enum(['store', 'file']),
  /** The person may change people, and tokens and rules of others. */
  administrator: z.boolean(),
  addedBy: z.string().optional(),
  addedAt: Time.optional(),
  removedBy: z.string().optional(),
  removedAt: Time.optional(),
});
export type PersonView = z.infer<typeof PersonView>;
