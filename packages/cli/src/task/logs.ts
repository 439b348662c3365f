import { LogStream } from '@holdpoint/contracts/task/log';
import type { Command } from 'commander';
import { oneOf } from '../kit/arguments.ts';
import type { Client } from '../bus/client.ts';
import { EXIT } from '../kit/failure.ts';
import { commandPath, withExample } from '../kit/example.ts';
import { loadJob } from '../job/job.ts';
import { jobName, type JobName } from '../job/target.ts';
import { personLines } from '../job/person.ts';
import { exitOf, isEnded } from '../job/status.ts';
import { type JobSource, tailOnce, type TailOptions, tailUntilEnd } from '../job/tail.ts';
import { watchRun } from '../job/watch-run.ts';
import type { Session } from '../kit/session.ts';

const STREAMS = [...LogStream.options, 'both'] as const;

const jobSource = (client: Client, name: JobName): JobSource => ({
  load: () => loadJob(client, name),
  watch: (onChange) => watchRun(client, name.task, onChange),
});

type Tail = { readonly stream: TailOptions['stream']; readonly follow?: true; readonly json?: true };

const tail = (
  { use, lines, json, warn }: Session,
  name: JobName,
  { stream, follow, json: asJson }: Tail,
): Promise<void> =>
  use(async (client) => {
    const options: TailOptions = {
      stream,
      onLine: (line) => {
        if (asJson) json({ stream: line.stream, line: line.line });
        else lines([stream === 'both' ? `[${line.stream}] ${line.line}` : line.line]);
      },
    };
    const logs = client.logs(name.task, name.node);
    const read = follow === true ? tailUntilEnd : tailOnce;
    const { node, run } = await read(jobSource(client, name), logs, options);
    if (follow !== true || isEnded(node.job)) return exitOf(node.job);
    for (const line of personLines(run)) warn(line);
    return EXIT.waiting;
  });

export const addTail = (parent: Command, session: Session): void => {
  withExample(
    parent
      .command('tail')
      .description(
        'print the output of a job; exit with its outcome: 0, 1 failed or cancelled, 10 blocked or left to a person',
      )
      .argument('<job>', '<task>/<node>', jobName)
      .option('--stream <stream>', STREAMS.join(', '), oneOf(STREAMS), 'both')
      .option('--follow', 'continue until the job has ended or waits for a person')
      .option('--json', 'print one JSON object per line of output')
      .action((name: JobName, options: Tail) => tail(session, name, options)),
    `${commandPath(parent)} tail t-4k2m9x1c7h0a/build --follow`,
  );
};

/** `jobs attach`: the same as `tail --follow`. */
export const addAttach = (parent: Command, session: Session): void => {
  withExample(
    parent
      .command('attach')
      .description('print the output of a job until it has ended: `tail --follow`')
      .argument('<job>', '<task>/<node>', jobName)
      .option('--json', 'print one JSON object per line of output')
      .action((name: JobName, options: { json?: true }) =>
        tail(session, name, { stream: 'both', follow: true, ...options }),
      ),
    `${commandPath(parent)} attach t-4k2m9x1c7h0a/build`,
  );
};
