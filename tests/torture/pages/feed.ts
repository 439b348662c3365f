import { z } from 'zod';
import type { Page } from './page-caller.ts';

/** What a page was told of a task: an event, or from where on to forget what it has seen. */
export type Told = { readonly version: number; readonly type: string };

/** Everything that one page was told of one task, however often its connection was cut. */
export type Feed = {
  readonly task: string;
  readonly told: Told[];
  /** The id of the last event: a page goes on from there. */
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
  if (event === 'fact') feed.told.push(Fact.parse(content));
  else if (event === 'reset') feed.told.push({ ...Reset.parse(content), type: RESET });
  // Only what is taken in whole counts: its id comes with it.
  if (id !== undefined) feed.after = id;
};

/** Reads until it is cut off from either side. What has arrived in part is forgotten, as a browser forgets it. */
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
