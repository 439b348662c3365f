/** Far below the acknowledgement wait of every consumer. */
const LATE_MS = 50;

/** Sends acknowledgements of one connection: at once, or later. */
export type LateAcks = {
  /** Takes a message. An acknowledgement before it returns follows no transaction, so it may leave late. */
  readonly during: (take: () => void) => void;
  readonly send: (ack: () => void) => void;
  readonly flush: () => void;
};

/**
 * An acknowledgement that nothing waits for leaves with the next one that follows a commit, or after a moment. A write of its own
 * would wake the bus, and costs as much as all others of a transaction together.
 */
export const createLateAcks = (): LateAcks => {
  let late: (() => void)[] = [];
  let isTaking = false;
  let isTimed = false;

  const flush = (): void => {
    const sent = late;
    late = [];
    for (const ack of sent) ack();
  };
  const wait = (): void => {
    if (isTimed) return;
    isTimed = true;
    setTimeout(() => {
      isTimed = false;
      flush();
    }, LATE_MS);
  };

  return {
    during: (take) => {
      isTaking = true;
      try {
        take();
      } finally {
        isTaking = false;
      }
    },
    send: (ack) => {
      late.push(ack);
      if (isTaking) wait();
      else flush();
    },
    flush,
  };
};
