import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { EffectId } from '@holdpoint/contracts/values/ids';
import { sha256Of } from '@holdpoint/contracts/values/json';
import { z } from 'zod';
import { replaceFile } from '../files/durable-file.ts';
import { endGroup } from './run-group.ts';
import { bootId, livingProcesses, processEntry, startedWith } from './process-table.ts';
import { groupGone } from './process-group.ts';

/** The effect that a command belongs to. */
export type WorkOf = {
  readonly effectId: string;
  readonly repository: string;
  readonly task: string;
  readonly node: string;
  readonly attempt: number;
};

const Started = z.object({ pid: z.int().min(2), start: z.string(), boot: z.string() });

/** A command that is running, or was when the executor exited. `group` is also the pid of its first process. */
const ProcessRecord = z.object({
  effectId: EffectId,
  repository: z.string(),
  task: z.string(),
  node: z.string(),
  attempt: z.int(),
  group: Started,
  executor: Started,
});
type ProcessRecord = z.infer<typeof ProcessRecord>;
type Started = z.infer<typeof Started>;

/** In the environment of every process of a step: also processes that leave the group can be found by it. */
const MARK = 'HOLDPOINT_WORK';
/** A process without a record is git. Killed, it would leave locks; it ends soon. */
const GIT_MS = 3_000;

export interface ProcessRecords {
  /** Environment variables for every command of a step. */
  markOf(work: WorkOf): Readonly<Record<string, string>>;
  /** Resolves once the record is on the disk. */
  began(work: WorkOf, group: number): Promise<void>;
  ended(work: WorkOf, group: number): Promise<void>;
  /**
   * Ends the processes that an earlier start of this effect, or of another effect of its node, has left. Returns
   * their number.
   */
  endLeftovers(work: WorkOf): Promise<number>;
  /**
   * Ends the processes of all executors of this folder that are gone. Another executor may be running beside this
   * one.
   */
  endAll(): Promise<number>;
}

const startedAs = async (pid: number): Promise<Started> => ({
  pid,
  start: (await processEntry(pid))?.start ?? '',
  boot: await bootId(),
});

/** Records running commands on the disk, so that a restarted executor can end those of its predecessor. */
export const createProcessRecords = (stateDir: string): ProcessRecords => {
  const folder = join(stateDir, 'work');
  const scope = sha256Of(stateDir).slice(0, 16);
  const self = startedAs(process.pid);
  const markOf = ({ task, node, effectId }: WorkOf): string => `${[scope, task, node, effectId].join('/')}/`;
  const pathOf = (effectId: string, group: number): string =>
    join(folder, `${EffectId.parse(effectId)}.${String(group)}.json`);

  const all = async (): Promise<readonly ProcessRecord[]> => {
    const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    const texts = await Promise.all(
      names
        .filter((name) => name.endsWith('.json'))
        // The command may end, and its record disappear, at any moment.
        .map((name) => readFile(join(folder, name), 'utf8').catch(() => undefined)),
    );
    return texts.filter((text) => text !== undefined).map((text) => ProcessRecord.parse(JSON.parse(text)));
  };
  const end = async (records: readonly ProcessRecord[]): Promise<number> => {
    let ended = 0;
    for (const record of records) {
      if (await isSame(record.group)) {
        await endGroup(record.group.pid);
        ended += 1;
      }
      await rm(pathOf(record.effectId, record.group.pid), { force: true });
    }
    return ended;
  };
  const isMine = async ({ executor }: ProcessRecord): Promise<boolean> => {
    const { pid, start, boot } = await self;
    return executor.pid === pid && executor.start === start && executor.boot === boot;
  };
  /** Ends marked processes without a record. */
  const endMarked = async (wanted: MarkFilter): Promise<number> => {
    let ended = 0;
    const tried = new Set<number>();
    for (let found = await marked(wanted); found.length > 0; found = await marked(wanted)) {
      for (const group of new Set(found)) {
        if (tried.has(group) || !(await groupGone(group, GIT_MS))) await endGroup(group);
        tried.add(group);
        ended += 1;
      }
    }
    return ended;
  };

  return {
    markOf: (work) => ({ [MARK]: `${markOf(work)}${String(process.pid)}` }),
    began: async (work, group) => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const { effectId, repository, task, node, attempt } = work;
      const record = { effectId, repository, task, node, attempt };
      const both = { group: await startedAs(group), executor: await self };
      await replaceFile(pathOf(effectId, group), JSON.stringify({ ...record, ...both }));
    },
    ended: (work, group) => rm(pathOf(work.effectId, group), { force: true }),
    endLeftovers: async (work) => {
      const records: ProcessRecord[] = [];
      for (const record of await all()) {
        const sameNode =
          record.repository === work.repository && record.task === work.task && record.node === work.node;
        // Other effects of the node may be its other items, which run beside this one; those of a dead executor are
        // not.
        if (record.effectId === work.effectId || (sameNode && !(await isMine(record)))) records.push(record);
      }
      const ended = await end(records);
      return ended + (await endMarked((found) => found.startsWith(markOf(work))));
    },
    endAll: async () => {
      const left: ProcessRecord[] = [];
      for (const record of await all())
        if ((await isMine(record)) || !(await isSame(record.executor))) left.push(record);
      const ended = await end(left);
      return (
        ended +
        (await endMarked(
          async (found, since) => found.startsWith(`${scope}/`) && !(await isOfAnother(found, since)),
        ))
      );
    },
  };
};

/** Whether a recorded group still lives: pids are reused. */
const isSame = async ({ pid, start, boot }: Started): Promise<boolean> => {
  if (boot !== (await bootId())) return false;
  const living = await livingProcesses();
  // Without /proc only the number identifies it.
  if (living === undefined) return !(await groupGone(pid, 0));
  const first = living.find((entry) => entry.pid === pid);
  if (first !== undefined) return first.start === start;
  // The first process has ended. Its number is not reused while another process of the group lives.
  return living.some(
    (entry) => entry.group === pid && entry.session === pid && Number(entry.start) >= Number(start),
  );
};

/**
 * Whether a marked process belongs to another living executor. A process younger than that executor only has its
 * pid.
 */
const isOfAnother = async (mark: string, since: string): Promise<boolean> => {
  const owner = Number(mark.slice(mark.lastIndexOf('/') + 1));
  const living = owner === process.pid ? undefined : await processEntry(owner);
  return living !== undefined && !living.gone && Number(living.start) <= Number(since);
};

/** Decides by the mark and the start time of a process. */
type MarkFilter = (mark: string, since: string) => boolean | Promise<boolean>;

const marked = async (wanted: MarkFilter): Promise<readonly number[]> => {
  const living = (await livingProcesses()) ?? [];
  const found = await Promise.all(
    living.map(async ({ pid, group, start }) => {
      if (pid === process.pid) return [];
      const mark = await startedWith(pid, MARK);
      return mark !== undefined && (await wanted(mark, start)) ? [group] : [];
    }),
  );
  return found.flat();
};
