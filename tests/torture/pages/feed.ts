import { z } from 'zod';
import type { Page } from './page-caller.ts';

/** An event that a page received, or a reset to an earlier version. */
export type FeedEvent = { readonly version: number; readonly type: string };

/** All events that one page received about one task, over all connections. */
export type Feed = {
  readonly task: string;
  readonly events: FeedEvent[];
  /** The id of the last event, from which the page continues. */
  after: string | undefined;
  connections: number;
};

const Fact = z.object({ version: z.int(), type: z.string() });
const Reset = z.object({ version: z.int() });
export const RESET = 'reset';

const fieldsOf = (block: string): ReadonlyMap<string, string> =>
  new Map(
    block
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith(':'))
      .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)] as const),
  );

const take = (feed: Feed, block: string): void => {
  const fields = fieldsOf(block);
  const [event, data, id] = [fields.get('event'), fields.get('data'), fields.get('id')];
  if (data === undefined) return;
  const content: unknown = JSON.parse(data);
  if (event === 'event') feed.events.push(Fact.parse(content));
  else if (event === 'reset') feed.events.push({ ...Reset.parse(content), type: RESET });
  // Only a complete event counts.
  if (id !== undefined) feed.after = id;
};

/** Reads until either side disconnects. A partial event is dropped, as in a browser. */
export const follow = async (
  { consoles, token, random }: Page,
  feed: Feed,
  cut: AbortSignal,
): Promise<void> => {
  const query = new URLSearchParams({
    task: feed.task,
    ...(feed.after !== undefined && { after: feed.after }),
  });
  const response = await fetch(`${random.pick(consoles)}/console/events?${query.toString()}`, {
    headers: { authorization: `Bearer ${token}` },
    signal: cut,
  });
  if (!response.ok || response.body === null) {
    await response.body?.cancel();
    return;
  }
  feed.connections += 1;
  let text = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (text + chunk).split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) take(feed, block);
  }
};
