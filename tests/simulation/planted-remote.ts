import type { Planted } from './planted.ts';

/** Effects of claimants in each run. */
const held = 24;

/** Mistakes about claimants and callbacks. */
export const PLANTED_REMOTE: readonly Planted[] = [
  {
    name: 'the end of an earlier start counts for the start in force',
    held,
    finds: ['the recorded outcome of an epoch is the one that its executor saw'],
    bug: {
      effect: (decider) => ({
        ...decider,
        decide: (state, message, at) =>
          decider.decide(
            state,
            message.kind === 'end' && state.status === 'started' && state.remote !== undefined
              ? { ...message, epoch: state.entry.epoch, x: state.remote.x }
              : message,
            at,
          ),
      }),
    },
  },
  {
    name: 'an end is acknowledged and forgotten',
    held,
    finds: ['an acknowledged end of a claimant is in the ledger', 'no effect stays in progress'],
    bug: {
      effect: (decider) => ({
        ...decider,
        decide: (state, message, at) => {
          const made = decider.decide(state, message, at);
          return message.kind === 'end' && message.result.kind === 'applied'
            ? { ...made, events: [], timers: [] }
            : made;
        },
      }),
    },
  },
  {
    name: 'a callback is ordered and not sent',
    held,
    finds: ['a held effect with a callback is called back about its end'],
    bug: {
      task: (decider) => ({
        ...decider,
        decide: (state, message, at) => {
          const made = decider.decide(state, message, at);
          return {
            ...made,
            send: made.send.filter(({ subject }) => !subject.endsWith('.call_back')),
            timers: made.timers.filter((timer) => !('set' in timer && timer.set.startsWith('callback:'))),
          };
        },
      }),
    },
  },
];
