/** Keeps what was made for the texts that were asked for last, and makes it anew for all others. */
export const memoize = <Made>(max: number, make: (text: string) => Made): ((text: string) => Made) => {
  const kept = new Map<string, { readonly made: Made }>();
  return (text) => {
    const entry = kept.get(text) ?? { made: make(text) };
    // A map keeps the order in which its keys were put in: the first is the one not asked for the longest.
    kept.delete(text);
    kept.set(text, entry);
    const [oldest] = kept.keys();
    if (kept.size > max && oldest !== undefined) kept.delete(oldest);
    return entry.made;
  };
};
