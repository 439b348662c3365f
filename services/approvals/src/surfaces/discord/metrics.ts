/** Interactions since the start, by result. */
export type InteractionCounts = {
  readonly add: (result: string) => void;
  readonly read: () => readonly { readonly labels: { readonly result: string }; readonly value: number }[];
};

export const createInteractionCounts = (): InteractionCounts => {
  const counts = new Map<string, number>();
  return {
    add: (result) => void counts.set(result, (counts.get(result) ?? 0) + 1),
    read: () => [...counts].map(([result, value]) => ({ labels: { result }, value })),
  };
};
