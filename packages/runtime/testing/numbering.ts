/**
 * Numbers values: two values get the same number exactly when their JSON is equal, in any order of keys. Parts
 * are remembered by identity, so numbered values must not change later; worlds that share parts cost only
 * their differences.
 */
export const createNumbering = (): ((value: object) => number) => {
  const numbers = new Map<string, number>();
  const known = new WeakMap<object, number>();
  const labels = new Map<string, string>();

  const numberOfText = (text: string): number => {
    const before = numbers.get(text);
    if (before !== undefined) return before;
    numbers.set(text, numbers.size);
    return numbers.size - 1;
  };

  const textOfObject = (value: object): string =>
    Array.isArray(value) ? `[${value.map(textOf).join()}]` : membersOf(value);

  const numberOfPart = (value: object): number => {
    const before = known.get(value);
    if (before !== undefined) return before;
    const number = numberOfText(textOfObject(value));
    known.set(value, number);
    return number;
  };

  const membersOf = (value: object): string => {
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) throw new TypeError('not a JSON value');
    let text = '{';
    for (const key of inOrder(Object.keys(value))) {
      const member = (value as Readonly<Record<string, unknown>>)[key];
      if (member !== undefined) text += `${labelOf(key)}${textOf(member)},`;
    }
    return text;
  };

  const labelOf = (key: string): string => {
    const known = labels.get(key);
    if (known !== undefined) return known;
    const label = `${JSON.stringify(key)}:`;
    labels.set(key, label);
    return label;
  };

  const textOf = (value: unknown): string => {
    switch (typeof value) {
      case 'string':
        return JSON.stringify(value);
      case 'number':
        if (!Number.isFinite(value)) throw new TypeError(`not a JSON value: ${String(value)}`);
        return String(value);
      case 'boolean':
        return String(value);
      case 'object':
        return value === null ? 'null' : `#${String(numberOfPart(value))}`;
      default:
        throw new TypeError(`not a JSON value: ${typeof value}`);
    }
  };

  // The whole is new nearly every time: only its parts are worth knowing.
  return (value) => numberOfText(textOfObject(value));
};

/** Most keys are few and in order already, or nearly. */
const inOrder = (keys: string[]): readonly string[] => {
  for (let i = 1; i < keys.length; i += 1) if ((keys[i - 1] ?? '') > (keys[i] ?? '')) return keys.sort();
  return keys;
};
