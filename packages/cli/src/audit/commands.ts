import type { AuditLine } from '@holdpoint/contracts/audit/audit';
import type { Command } from 'commander';
import { count, wholeNumber } from '../kit/arguments.ts';
import { fileSink, type Sink } from '../kit/sinks.ts';
import { anchorsOf, type Part, textOfPart } from './export-file.ts';
import { fetchAnchors, fetchLines } from './fetch.ts';
import { auditText, verificationText } from './text.ts';
import { readKeys, type Verification, verifyExport, verifyLog } from './verify.ts';
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
      .description('list the audit log, oldest first')
      .option('--about <id>', 'only lines about this approval, rule or token ID')
      .option('--after <line>', 'only lines after this line number', count)
      .option('--limit <n>', 'maximum number of lines', wholeNumber(SHOWN_MAX), SHOWN)
      .option('--json', 'print the stored lines as JSON')
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

/** Writes keys first and an end mark last, so that a truncated export is detected. */
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

const into = async <Result>(sink: Sink, make: () => Promise<Result>): Promise<Result> => {
  try {
    const result = await make();
    sink.done();
    return result;
  } catch (error) {
    sink.failed();
    throw error;
  }
};

const addExport = (audit: Command, { use, lines, bytes, directory }: Session): void => {
  withExample(
    audit
      .command('export')
      .description('export the whole log with anchors and public keys, one JSON object per line')
      .option('--out <file>', 'new file (default: standard output)')
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
          lines([`wrote ${String(written)} lines to ${out}`]);
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
  const report = (verified: Verification, asJson: true | undefined): number => {
    const { report: found, keys, warnings } = verified;
    if (asJson) json({ ...found, keys, warnings });
    else {
      lines(verificationText(verified));
      for (const warning of warnings) warn(`note: ${warning}`);
    }
    return found.problemCount === 0 ? EXIT.ok : EXIT.failed;
  };
  withExample(
    audit
      .command('verify')
      .description('verify the whole log: detect altered, deleted, inserted, moved or truncated lines')
      .option('--file <export>', 'verify this export instead of the log of the service')
      .option('--keys <file>', 'trusted public keys, in PEM (default: the keys in the log)')
      .option('--anchors <export>', 'also check the anchors of this earlier export')
      .option('--json', 'print the report as JSON')
      .action(({ file, keys, anchors, json: asJson }: Verify) => {
        const options = () => ({
          keys: keys === undefined ? undefined : readKeys(keys, directory()),
          anchors: anchors === undefined ? [] : anchorsOf(anchors, directory()),
        });
        return file === undefined
          ? use(async (client) => report(await verifyLog(client, options()), asJson))
          : local(() => report(verifyExport(file, directory(), options()), asJson));
      }),
    'audit verify',
    'audit verify --file audit.jsonl --keys grant.pub.pem',
  );
};

export const addAudit = (program: Command, session: Session): void => {
  const audit = withExample(
    program.command('audit').description('list, export and verify the audit log'),
    'audit verify',
  );
  addList(audit, session);
  addExport(audit, session);
  addVerify(audit, session);
};
