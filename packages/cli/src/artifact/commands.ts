import { type ArtifactUri, type ArtifactView } from '@holdpoint/contracts/effect/stored-artifact';
import { TaskId } from '@holdpoint/contracts/values/ids';
import type { Command } from 'commander';
import { as } from '../kit/arguments.ts';
import { type ArtifactName, artifactName, artifactsOf, findArtifact } from './find.ts';
import { readArtifact } from './read.ts';
import { fileSink, terminalSink, type Sink } from '../kit/sinks.ts';
import { instant, listing } from '../output/columns.ts';
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

const addList = (artifact: Command, { use, lines, json }: Session): void => {
  withExample(
    artifact
      .command('list')
      .description('list the artifacts of a task, oldest first')
      .argument('<task>', 'task ID', as(TaskId))
      .option('--json', 'print the artifacts as JSON')
      .action((task: TaskId, options: { json?: true }) =>
        use(async (client) => {
          const items = await artifactsOf(client, task);
          if (options.json) json({ items });
          else
            lines(
              items.length === 0
                ? ['no artifacts']
                : listing(['Created', 'Step', 'Name', 'Size', 'State', 'URI'], items.map(rowOf)),
            );
          return undefined;
        }),
      ),
    'artifact list t-4k2m9x1c7h0a',
  );
};

type Get = { readonly output?: string; readonly raw?: true };

const sinkFor = ({ output, raw }: Get, session: Session): Sink => {
  if (output !== undefined) return fileSink(output, session.directory());
  // The content is untrusted: a terminal would execute its escape sequences.
  return session.terminal() !== undefined && raw !== true
    ? terminalSink((line) => session.lines([line]))
    : { write: (bytes) => session.bytes(bytes), done: () => undefined, failed: () => undefined };
};

const addGet = (artifact: Command, session: Session): void => {
  withExample(
    artifact
      .command('get')
      .description('print an artifact, or write it to a file, and check its digest')
      .argument('<artifact>', 'artifact://<sha256>, or <task>/<node> for its latest log', artifactName)
      .option('-o, --output <file>', 'write to this new file')
      .option('--raw', 'print unescaped to a terminal, including control sequences')
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
    'artifact get t-4k2m9x1c7h0a/build',
    `artifact get artifact://${'0123456789abcdef'.repeat(4)} -o build.log`,
  );
};

export const addArtifact = (program: Command, session: Session): void => {
  const artifact = withExample(
    program
      .command('artifact')
      .alias('artifacts')
      .description('list and read artifacts: full logs and large outputs'),
    'artifact list t-4k2m9x1c7h0a',
  );
  addList(artifact, session);
  addGet(artifact, session);
};
