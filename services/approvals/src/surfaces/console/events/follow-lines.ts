import { filters } from '@holdpoint/contracts/bus/subjects';
import type { TaskId } from '@holdpoint/contracts/values/ids';
import type { BusOverview, LoggedLine } from '@holdpoint/runtime/bus/bus-overview';
import type { Listener } from '@holdpoint/runtime/bus/listener';

export type LineFollower = {
  readonly onLine: (line: LoggedLine) => void;
  /** Resolves to true once it can take more, and to false when it has ended. */
  readonly ready: () => Promise<boolean>;
};

/**
 * Follows the output lines of a task from a stream position, in order and each once. The bus only signals new
 * lines; they are read from the stream, so that a slow or returning client misses no retained line.
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
      // Invalid messages in the stream are skipped.
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
    // The stream is unavailable; the next read finds the lines.
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
