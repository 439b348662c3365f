import { digestOf } from '@holdpoint/contracts/values/json';

/** Content that many events have in common, such as the default gate of tasks. It is stored once, under its digest. */
export type SharedContent = { readonly digest: string; readonly body: string };

/** An event as it is stored and published: `shared` has the digests of the fields that were left out. */
type Shortened = { readonly shared?: Readonly<Record<string, string>> };

const encoded = new WeakMap<object, SharedContent>();
/** The events of a process share one object, which is encoded once. */
const contentOf = (value: object): SharedContent => {
  const known = encoded.get(value);
  if (known !== undefined) return known;
  const content = { digest: digestOf(value), body: JSON.stringify(value) };
  encoded.set(value, content);
  return content;
};

/** The event with digests in the place of these fields, and their content. */
export const shorten = (
  event: object,
  fields: readonly string[] = [],
): { readonly event: object; readonly contents: readonly SharedContent[] } => {
  const rest = event as Record<string, unknown>;
  const present = fields.filter((field) => typeof rest[field] === 'object' && rest[field] !== null);
  if (present.length === 0) return { event, contents: [] };
  const shared: Record<string, string> = {};
  const contents = present.map((field) => {
    const content = contentOf(rest[field] as object);
    shared[field] = content.digest;
    return content;
  });
  const left = Object.entries(rest).filter(([field]) => !present.includes(field));
  return { event: { ...Object.fromEntries(left), shared }, contents };
};

/** The digests that a stored event has in the place of content. */
export const digestsIn = (stored: unknown): readonly string[] =>
  Object.values((stored as Shortened).shared ?? {});

/** The whole event of a stored one. */
export const complete = (stored: unknown, contents: ReadonlyMap<string, unknown>): unknown => {
  const { shared, ...event } = stored as Shortened;
  if (shared === undefined) return stored;
  const fields = Object.entries(shared).map(([field, digest]) => {
    if (!contents.has(digest)) throw new Error(`shared content ${digest} is missing in the store`);
    return [field, contents.get(digest)] as const;
  });
  return { ...event, ...Object.fromEntries(fields) };
};
