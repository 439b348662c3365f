import { readFile, stat } from 'node:fs/promises';
import { errorFields } from '../engine/error-fields.ts';
import type { Logger } from '../observability/log.ts';
import { startPeriodic } from '../observability/periodic.ts';

const LOOK_EVERY_MS = 2_000;

export type Followed<Content> = {
  readonly current: () => Content;
  /** Looks now. */
  readonly look: () => Promise<void>;
  readonly stop: () => Promise<void>;
};

/** Of a file that is put in the place of another as well as of one that is written anew. */
const stampOf = async (path: string): Promise<string> => {
  const { dev, ino, size, mtimeNs } = await stat(path, { bigint: true });
  return [dev, ino, size, mtimeNs].join('.');
};

/**
 * What a file holds, read again when it has changed. One that cannot be read, or that `parse` throws on, is logged once, and
 * what it held before stays.
 */
export const followFile = <Content>(
  {
    name,
    path,
    parse,
    changed = () => undefined,
  }: {
    /** The variable that names it. */
    readonly name: string;
    readonly path: string;
    readonly parse: (text: string) => Content;
    readonly changed?: (content: Content) => void;
  },
  first: Content,
  log: Logger,
): Followed<Content> => {
  let content = first;
  let seen: string | undefined;
  const look = async (): Promise<void> => {
    let stamp = 'none';
    try {
      stamp = await stampOf(path);
      if (stamp === seen) return;
      content = parse(await readFile(path, 'utf8'));
      changed(content);
    } catch (error) {
      if (stamp !== seen)
        log.error({ ...errorFields(error), file: name }, 'file is broken: what it held stays');
    }
    // As it was before it was read: whatever is written meanwhile is read the next time.
    seen = stamp;
  };
  const looking = startPeriodic(name, LOOK_EVERY_MS, look, log);
  return { current: () => content, look, stop: looking.stop };
};
