import { type ArtifactUri, type ArtifactView } from '@holdpoint/contracts/effect/stored-artifact';
import { TaskId } from '@holdpoint/contracts/values/ids';
import type { Command } from 'commander';
import { as } from '../kit/arguments.ts';
import { type ArtifactName, artifactName, artifactsOf, findArtifact } from './find.ts';
import { readArtifact } from './read.ts';
import { fileSink, terminalSink, type Sink } from '../kit/sinks.ts';
import { columns, instant } from '../output/columns.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';

const rowOf = ({ uri, node, attempt, step, name, bytes, createdAt, storedAt }: ArtifactView) => [
  instant(createdAt),
  `${node} ${String(attempt)} ${step}`,
  name,
  `${String(bytes)} bytes`,
  storedAt === undefined ? 'not stored yet' : 'stored',
  uri,
];

const addList = (artifacts: Command, { use, lines, json }: Session): void => {
  withExample(
    artifacts
      .command('list')
      .description('list the full logs and the large outputs of one task, oldest first')
      .argument('<task>', 'id of the task', as(TaskId))
      .option('--json', 'print them as one JSON value')
      .action((task: TaskId, options: { json?: true }) =>
        use(async (client) => {
          const items = await artifactsOf(client, task);
          if (options.json) json({ items });
          else lines(items.length === 0 ? ['no artifacts'] : columns(items.map(rowOf)));
          return undefined;
        }),
      ),
    'artifacts list t-4k2m9x1c7h0a',
  );
};

type Get = { readonly output?: string; readonly raw?: true };

const sinkFor = ({ output, raw }: Get, session: Session): Sink => {
  if (output !== undefined) return fileSink(output, session.directory());
  // A terminal acts upon what it is told, and anybody may have printed it.
  return session.terminal() !== undefined && raw !== true
    ? terminalSink((line) => session.lines([line]))
    : { write: (bytes) => session.bytes(bytes), done: () => undefined, failed: () => undefined };
};

const addGet = (artifacts: Command, session: Session): void => {
  withExample(
    artifacts
      .command('get')
      .description('print what an artifact holds, or put it into a file, and check it against its digest')
      .argument('<artifact>', 'artifact://<sha256>, or <task>/<node> for its latest log', artifactName)
      .option('-o, --output <file>', 'into this file, which must not be there yet')
      .option('--raw', 'also to a terminal as it is, with whatever it makes a terminal do')
      .action((name: ArtifactName, options: Get) =>
        session.use(async (client) => {
          const uri: ArtifactUri = await findArtifact(client, name);
          const sink = sinkFor(options, session);
          try {
            await readArtifact(client, uri, (bytes) => sink.write(bytes));
          } catch (error) {
            sink.failed();
            throw error;
          }
          sink.done();
          return undefined;
        }),
      ),
    'artifacts get t-4k2m9x1c7h0a/build',
    `artifacts get artifact://${'0123456789abcdef'.repeat(4)} -o build.log`,
  );
};

export const addArtifacts = (program: Command, session: Session): void => {
  const artifacts = withExample(
    program.command('artifacts').description('read the full logs and the large outputs of steps'),
    'artifacts list t-4k2m9x1c7h0a',
  );
  addList(artifacts, session);
  addGet(artifacts, session);
};
