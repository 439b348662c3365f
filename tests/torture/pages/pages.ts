import { api } from '@holdpoint/contracts/catalog/api';
import type { History } from '../history.ts';
import { holdFor } from '../fault-runner.ts';
import { type Feed, follow } from './feed.ts';
import { type Page, postAsPage } from './page-caller.ts';

export type PagesOptions = {
  readonly pages: readonly Page[];
  readonly tasks: () => readonly { readonly id: string }[];
  readonly history: History;
};

export type Pages = {
  readonly feeds: () => readonly Feed[];
  /** After the faults: every page catches up, each within this time. */
  readonly finish: (withinMs: number) => Promise<void>;
  readonly stop: () => Promise<void>;
};

/** Tasks that a page watches at the same time. */
const AT_ONCE = 3;
/** The lifetime of a connection. */
const CUT_AFTER_MS = [200, 4_000] as const;
const AWAY_MS = [0, 1_500] as const;
const CONNECTIONS_MAX = 6;
/** A frozen process accepts connections and does not answer. */
const PATIENCE_MS = 5_000;
const LOOK_EVERY_MS = 200;

const newestOf = (feed: Feed): number => feed.events.at(-1)?.version ?? 0;

/** Pages that watch tasks during faults, with short connections. */
export const startPages = ({ pages, tasks, history }: PagesOptions): Pages => {
  const over = new AbortController();
  const feeds: Feed[] = [];

  /** After any error the page reconnects and continues. */
  const followFor = async (page: Page, feed: Feed, ms: number): Promise<void> => {
    const cut = AbortSignal.any([AbortSignal.timeout(Math.round(ms)), over.signal]);
    await follow(page, feed, cut).catch((error: unknown) => {
      if (!cut.aborted) history.add({ note: `a page lost its connection: ${String(error)}` });
    });
  };

  const watch = async (page: Page): Promise<void> => {
    const { random } = page;
    while (!over.signal.aborted) {
      const recent = tasks().slice(-30);
      if (recent.length === 0) {
        await holdFor(LOOK_EVERY_MS, over.signal);
        continue;
      }
      const feed: Feed = { task: random.pick(recent).id, events: [], after: undefined, connections: 0 };
      feeds.push(feed);
      for (let i = random.int(1, CONNECTIONS_MAX); i > 0 && !over.signal.aborted; i -= 1) {
        await followFor(page, feed, random.int(...CUT_AFTER_MS));
        await holdFor(random.int(...AWAY_MS), over.signal);
      }
    }
  };

  const versionOf = async (page: Page, id: string): Promise<number> => {
    const found = api.orchestrator.get.response.parse(await postAsPage(page, 'orchestrator/get', { id }));
    return found.version;
  };

  /** Whether the page has all events within the time. */
  const catchUp = async (page: Page, feed: Feed, withinMs: number): Promise<boolean> => {
    const until = performance.now() + withinMs;
    let tries = 0;
    for (; tries === 0 || performance.now() < until; tries += 1) {
      const version = await versionOf(page, feed.task).catch(() => undefined);
      // A task that was not accepted has no events.
      if (version !== undefined && newestOf(feed) >= version) return true;
      const cut = new AbortController();
      const following = follow(page, feed, AbortSignal.any([cut.signal, AbortSignal.timeout(PATIENCE_MS)]));
      const caughtUp = async (): Promise<void> => {
        for (let looks = PATIENCE_MS / LOOK_EVERY_MS; looks > 0; looks -= 1) {
          await holdFor(LOOK_EVERY_MS, cut.signal);
          if (version !== undefined && newestOf(feed) >= version) break;
        }
        cut.abort();
      };
      await Promise.allSettled([following, caughtUp()]);
    }
    history.add({
      note: `a page of ${feed.task} has ${String(newestOf(feed))} events after ${String(tries)} tries`,
    });
    return false;
  };

  const watching = Promise.all(pages.flatMap((page) => Array.from({ length: AT_ONCE }, () => watch(page))));
  return {
    feeds: () => feeds,
    finish: async (withinMs) => {
      over.abort();
      await watching;
      const left = [...feeds];
      // Each page has its own time, because a slow machine has many pages. After the first failure one try is enough.
      let mayTakeMs = withinMs;
      const work = async (page: Page): Promise<void> => {
        for (let feed = left.shift(); feed !== undefined; feed = left.shift())
          if (!(await catchUp(page, feed, mayTakeMs))) mayTakeMs = 0;
      };
      await Promise.all(pages.flatMap((page) => Array.from({ length: AT_ONCE }, () => work(page))));
    },
    stop: async () => {
      over.abort();
      await watching;
    },
  };
};
