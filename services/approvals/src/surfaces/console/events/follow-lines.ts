import { filters } from '@holdpoint/contracts/bus/subjects';
import type { TaskId } from '@holdpoint/contracts/values/ids';
import type { BusOverview, LoggedLine } from '@holdpoint/runtime/bus/bus-overview';
import type { Listener } from '@holdpoint/runtime/bus/listener';

export type LineFollower = {
  readonly onLine: (line: LoggedLine) => void;
  /** Whether it can take more; false once it has ended. */
  readonly ready: () => Promise<boolean>;
};

/**
 * Hands on what a task prints after a place in the stream, in order and each once. The bus says when there is more; it is
 * read from the stream, so that whoever was away for a while, or is slow, misses nothing that is still kept.
 */
export const followLines = (
  {
    listener,
    look,
  }: { readonly listener: Pick<Listener, 'listen'>; readonly look: Pick<BusOverview, 'nextLine'> },
  task: TaskId,
  from: number,
  follower: LineFollower,
): { readonly look: () => Promise<void>; readonly stop: () => void } => {
  let place = from;
  let [wanted, isOver] = [false, false];
  let reading: Promise<void> | undefined;

  const readOn = async (): Promise<void> => {
    while (!isOver && (await follower.ready())) {
      const next = await look.nextLine(task, place + 1);
      if (next === undefined) return;
      place = next.place;
      // What anybody may write there need not be a line.
      if (next.line !== undefined && !isOver) follower.onLine(next.line);
    }
  };
  const read = (): Promise<void> => {
    wanted = true;
    reading ??= (async () => {
      try {
        while (wanted && !isOver) {
          wanted = false;
          await readOn();
        }
      } finally {
        reading = undefined;
      }
    })();
    return reading;
  };

  const hearing = listener.listen([filters.logsOf(task)], () => {
    // While the stream is away there is nothing to read; the next look finds it.
    read().catch(() => undefined);
  });
  return {
    look: read,
    stop: () => {
      isOver = true;
      hearing.stop();
    },
  };
};
