/** A value for each of the names. The only place that has to assert that the keys are those names. */
export const recordOf = <Name extends string, Value>(
  names: readonly Name[],
  valueOf: (name: Name) => Value,
): Readonly<Record<Name, Value>> =>
  Object.fromEntries(names.map((name) => [name, valueOf(name)])) as Record<Name, Value>;

/** The same for values that take a while, one after the other. */
export const recordInTurn = async <Name extends string, Value>(
  names: readonly Name[],
  valueOf: (name: Name) => Promise<Value>,
): Promise<Readonly<Record<Name, Value>>> => {
  const values = new Map<Name, Value>();
  for (const name of names) values.set(name, await valueOf(name));
  return Object.fromEntries(values) as Record<Name, Value>;
};
