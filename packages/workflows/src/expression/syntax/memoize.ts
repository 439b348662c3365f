/**
 * Caches the results of the most recently used texts, at most `max`. A full half replaces the older one, so that a known
 * text costs one look-up.
 */
export const memoize = <Made>(max: number, make: (text: string) => Made): ((text: string) => Made) => {
  type Half = Map<string, { readonly made: Made }>;
  let recent: Half = new Map();
  let older: Half = new Map();
  return (text) => {
    const known = recent.get(text);
    if (known !== undefined) return known.made;
    const entry = older.get(text) ?? { made: make(text) };
    if (recent.size >= max / 2) [older, recent] = [recent, new Map()];
    recent.set(text, entry);
    return entry.made;
  };
};
