import { createReadStream } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { type Book, createBook } from './book.ts';
import { createHolding } from './holding.ts';
import { openLedgerFile } from './ledger-file.ts';
import { Flavour } from './ledger.ts';
import { Mix, ModeSetting } from './modes.ts';
import { answerJson, type Delays, epochOf, serveTarget, type Setting } from './targets.ts';

export type CounterOptions = Delays & {
  readonly file: string;
  readonly host: string;
  readonly port: number;
  readonly seed: string;
  readonly mode: ModeSetting;
  readonly mix: Mix;
  /** How long a keyed target remembers a key. */
  readonly keyWindowMs: number;
};

export type Counter = { readonly origin: string; readonly stop: () => Promise<void> };

/** The body of `POST /control`. Fields that are left out keep their value. */
const Control = z.strictObject({
  mode: ModeSetting.optional(),
  mix: Mix.optional(),
  /** Lets all delayed requests arrive. */
  release: z.boolean().default(false),
});

const jsonOf = (body: string): unknown => {
  try {
    return JSON.parse(body);
  } catch {
    return undefined; // what is no JSON is no control either
  }
};

const probe = async (url: URL, flavour: Flavour, book: Book, response: ServerResponse): Promise<void> => {
  const key = url.searchParams.get('key') ?? '';
  // The fence is raised before the probe, or its result would not hold.
  const applied = await book.probe(flavour, key, epochOf(url.searchParams.get('epoch')));
  answerJson(response, 200, flavour === 'fenced' ? { applied, fence: book.memory.fence(key) } : { applied });
};

const listen = (server: Server, host: string, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
  });

/** The independent target: it misbehaves as configured and records what really happened. */
export const startCounter = async (options: CounterOptions): Promise<Counter> => {
  const { host, seed } = options;
  const file = await openLedgerFile(options.file);
  const book = createBook(file, options.keyWindowMs);
  const holding = createHolding(book);
  let setting: Setting = { mode: options.mode, mix: options.mix };
  const stopping = new AbortController();
  const parts = {
    book,
    holding,
    seed,
    delays: options,
    setting: () => setting,
    stopping: stopping.signal,
  };
  await book.write({ type: 'opened', seed, ...setting });

  const showControl = (response: ServerResponse): void =>
    answerJson(response, 200, { ...setting, seed, held: book.memory.held().size });

  const control = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request).catch(() => ''); // whoever goes away in the middle has asked for nothing
    const { success, data, error } = Control.safeParse(jsonOf(body));
    if (!success) return answerJson(response, 400, { error: z.prettifyError(error) });
    setting = { mode: data.mode ?? setting.mode, mix: data.mix ?? setting.mix };
    await book.write({ type: 'control', ...setting, release: data.release });
    if (data.release) await holding.releaseAll();
    return showControl(response);
  };

  const showLedger = async (response: ServerResponse): Promise<void> => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' });
    const length = file.length();
    if (length === 0) return void response.end();
    // A client that is cut off sees half an answer.
    await pipeline(createReadStream(options.file, { end: length - 1 }), response).catch(() => undefined);
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = URL.parse(request.url ?? '/', 'http://counter');
    if (url === null) return answerJson(response, 400, { error: 'no path' });
    const flavour = Flavour.safeParse(/^\/([a-z]+)(\/|$)/.exec(url.pathname)?.[1]).data;
    const { requests, applications, held } = book.memory;
    switch (`${request.method ?? ''} ${url.pathname}`) {
      case 'GET /healthz':
        return answerJson(response, 200, {
          status: 'ok',
          requests: requests(),
          applications: applications(),
          held: held().size,
        });
      case 'GET /ledger':
        return showLedger(response);
      case 'GET /control':
        return showControl(response);
      case 'POST /control':
        return control(request, response);
    }
    if (flavour === undefined) return answerJson(response, 404, { error: 'no such target' });
    const probed = flavour === 'fenced' || flavour === 'probeable';
    if (probed && request.method === 'GET' && url.searchParams.has('key'))
      return probe(url, flavour, book, response);
    return serveTarget(request, response, flavour, parts);
  };

  const serving = new Set<Promise<void>>();
  // Only the ledger can fail here. Without it the counter is useless, so the process exits.
  const server = createServer((request, response) => {
    const served = serve(request, response).finally(() => serving.delete(served));
    serving.add(served);
  });
  const port = await listen(server, host, options.port);
  return {
    origin: `http://${host}:${String(port)}`,
    stop: async () => {
      stopping.abort();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      await Promise.all(serving);
      holding.stop();
      await file.close();
    },
  };
};
