import type { AuditLine } from '@holdpoint/contracts/audit/audit';
import type { Command } from 'commander';
import { count, wholeNumber } from '../kit/arguments.ts';
import { fileSink, type Sink } from '../kit/sinks.ts';
import { anchorsOf, type Part, textOfPart } from './export-file.ts';
import { fetchAnchors, fetchLines } from './fetch.ts';
import { auditText, verifiedText } from './text.ts';
import { readKeys, type Verified, verifyExport, verifyLog } from './verify.ts';
import type { Client } from '../bus/client.ts';
import { withExample } from '../kit/example.ts';
import { EXIT } from '../kit/failure.ts';
import type { Session } from '../kit/session.ts';

const SHOWN = 50;
const SHOWN_MAX = 100_000;

type List = {
  readonly about?: string;
  readonly after?: number;
  readonly limit: number;
  readonly json?: true;
};

const addList = (audit: Command, { use, lines, json }: Session): void => {
  withExample(
    audit
      .command('list')
      .description('list what was asked, decided and done, oldest first')
      .option('--about <id>', 'only of this approval, rule or token')
      .option('--after <line>', 'only lines after this one', count)
      .option('--limit <n>', 'at most so many', wholeNumber(SHOWN_MAX), SHOWN)
      .option('--json', 'print the lines as they are stored, as JSON')
      .action(({ about, after, limit, json: asJson }: List) =>
        use(async (client) => {
          const items: AuditLine[] = [];
          const wanted = {
            limit,
            ...(after !== undefined && { after }),
            ...(about !== undefined && { about }),
          };
          for await (const line of fetchLines(client, wanted)) items.push(line);
          if (asJson) json({ items });
          else lines(items.length === 0 ? ['no lines'] : auditText(items));
          return undefined;
        }),
      ),
    'audit list --limit 20',
  );
};

/** All of it, keys first and the end last, so that nobody takes a part for the whole. */
const writeExport = async (client: Client, write: (part: Part) => void): Promise<number> => {
  write({ kind: 'keys', ...(await client.call('approvals', 'keys', {})) });
  for (const statement of (await fetchAnchors(client)) ?? []) write({ kind: 'anchor', statement });
  let written = 0;
  for await (const line of fetchLines(client)) {
    write({ kind: 'line', line });
    written += 1;
  }
  write({ kind: 'end', lines: written });
  return written;
};

const into = async <Made>(sink: Sink, make: () => Promise<Made>): Promise<Made> => {
  try {
    const made = await make();
    sink.done();
    return made;
  } catch (error) {
    sink.failed();
    throw error;
  }
};

const addExport = (audit: Command, { use, lines, bytes, directory }: Session): void => {
  withExample(
    audit
      .command('export')
      .description('write the whole log with its anchors and public keys, a line of JSON each')
      .option('--out <file>', 'a new file; standard output, when left out')
      .action(({ out }: { readonly out?: string }) =>
        use(async (client) => {
          if (out === undefined) {
            await writeExport(client, (part) => bytes(Buffer.from(textOfPart(part))));
            return undefined;
          }
          const sink = fileSink(out, directory());
          const written = await into(sink, () =>
            writeExport(client, (part) => sink.write(Buffer.from(textOfPart(part)))),
          );
          lines([`${String(written)} lines are in ${out}`]);
          return undefined;
        }),
      ),
    'audit export --out audit.jsonl',
  );
};

type Verify = {
  readonly file?: string;
  readonly keys?: string;
  readonly anchors?: string;
  readonly json?: true;
};

const addVerify = (audit: Command, { use, local, lines, json, warn, directory }: Session): void => {
  const tell = (verified: Verified, asJson: true | undefined): number => {
    const { report, keys, warnings } = verified;
    if (asJson) json({ ...report, keys, warnings });
    else {
      lines(verifiedText(verified));
      for (const warning of warnings) warn(`note: ${warning}`);
    }
    return report.problemCount === 0 ? EXIT.ok : EXIT.failed;
  };
  withExample(
    audit
      .command('verify')
      .description('look at the whole log: whether anything was altered, deleted, put in, moved or cut off')
      .option('--file <export>', 'an export, instead of what the service has now')
      .option(
        '--keys <file>',
        'public keys that you trust, in PEM; without it those that the log brings along',
      )
      .option('--anchors <export>', 'an earlier export, whose anchors have to fit as well')
      .option('--json', 'print what was found as JSON')
      .action(({ file, keys, anchors, json: asJson }: Verify) => {
        const options = () => ({
          keys: keys === undefined ? undefined : readKeys(keys, directory()),
          anchors: anchors === undefined ? [] : anchorsOf(anchors, directory()),
        });
        return file === undefined
          ? use(async (client) => tell(await verifyLog(client, options()), asJson))
          : local(() => tell(verifyExport(file, directory(), options()), asJson));
      }),
    'audit verify',
    'audit verify --file audit.jsonl --keys grant.pub.pem',
  );
};

export const addAudit = (program: Command, session: Session): void => {
  const audit = withExample(
    program.command('audit').description('see, keep and verify the log of what was asked, decided and done'),
    'audit verify',
  );
  addList(audit, session);
  addExport(audit, session);
  addVerify(audit, session);
};
