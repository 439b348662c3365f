type Happening = { readonly at: number; readonly order: number; step: (() => void) | undefined };

/** The only clock of a simulation: milliseconds since its start. */
export type Timeline = {
  readonly now: () => number;
  /** Returns the function that cancels the step. */
  readonly in: (ms: number, step: () => void) => () => void;
  /** Takes the next step and moves the clock; false when none is left before `until`. */
  readonly step: (until: number) => boolean;
  /** Called whenever a step resolves promises. */
  readonly stir: () => void;
  /** Whether a step has resolved promises since the last call. */
  readonly isStirred: () => boolean;
  readonly isEmpty: () => boolean;
  readonly steps: () => number;
};

const before = (one: Happening, other: Happening): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order);

export const createTimeline = (): Timeline => {
  /** A binary heap with the next step at the top. */
  const heap: Happening[] = [];
  let now = 0;
  let order = 0;
  let steps = 0;
  let stirred = false;

  const at = (index: number): Happening => {
    const happening = heap[index];
    if (happening === undefined) throw new Error('outside of the heap');
    return happening;
  };

  const push = (happening: Happening): void => {
    let child = heap.push(happening) - 1;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if (!before(happening, at(parent))) break;
      heap[child] = at(parent);
      child = parent;
    }
    heap[child] = happening;
  };

  const pop = (): Happening => {
    const top = at(0);
    const last = heap.pop() ?? top;
    if (heap.length === 0) return top;
    let parent = 0;
    for (;;) {
      let child = parent * 2 + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(at(child + 1), at(child))) child += 1;
      if (before(last, at(child))) break;
      heap[parent] = at(child);
      parent = child;
    }
    heap[parent] = last;
    return top;
  };

  return {
    now: () => now,
    stir: () => {
      stirred = true;
    },
    isStirred: () => {
      const was = stirred;
      stirred = false;
      return was;
    },
    isEmpty: () => heap.every(({ step }) => step === undefined),
    steps: () => steps,
    in: (ms, step) => {
      order += 1;
      const happening: Happening = { at: now + Math.max(0, ms), order, step };
      push(happening);
      return () => {
        happening.step = undefined;
      };
    },
    step: (until) => {
      for (;;) {
        if (heap.length === 0 || at(0).at > until) return false;
        const { at: time, step } = pop();
        if (step === undefined) continue;
        now = time;
        steps += 1;
        step();
        return true;
      }
    },
  };
};
