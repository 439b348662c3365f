/** Caches the results of the most recently used texts. */
export const memoize = <Made>(max: number, make: (text: string) => Made): ((text: string) => Made) => {
  const kept = new Map<string, { readonly made: Made }>();
  return (text) => {
    const entry = kept.get(text) ?? { made: make(text) };
    // A map keeps insertion order, so the first key is the least recently used.
    kept.delete(text);
    kept.set(text, entry);
    const [oldest] = kept.keys();
    if (kept.size > max && oldest !== undefined) kept.delete(oldest);
    return entry.made;
  };
};
